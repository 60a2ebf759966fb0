# The price of all hours: sh total.sh <list> <rate>
awk -F, -v rate="$2" '{ hours += $2 } END { print hours * rate }' "$1"
