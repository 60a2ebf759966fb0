/** How many seeds each app is tried with: 60 in the test command, any number with `SEEDS=1000`. */
export const seedsToTry = Number(process.env['SEEDS'] ?? 60)
