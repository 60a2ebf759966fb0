/**
 * A registry of metrics in Prometheus text (version 0.0.4): counters and histograms that grow, gauges that are asked.
 *
 * RG1 The number of series is bounded: past `maxSeries` of one metric, further label values become `other`, so that no
 *     name that a model or a user invents can fill the memory.
 */
type Labels = Readonly<Record<string, string>>

/** Seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800]
const defaultMaxSeries = 1_000

interface Series {
  readonly labels: string
  value: number
  /** Of a histogram: how many were at most each bound. */
  readonly buckets?: number[]
  count: number
}

interface Metric {
  readonly type: 'counter' | 'histogram'
  readonly help: string
  readonly series: Map<string, Series>
}

export class MetricRegistry {
  readonly #metrics = new Map<string, Metric>()
  readonly #maxSeries: number

  constructor(maxSeries = defaultMaxSeries) {
    this.#maxSeries = maxSeries
  }

  /** Says what there is, so that a metric that nothing has happened to is there too. */
  define(name: string, type: Metric['type'], help: string): void {
    this.#metrics.set(name, { type, help, series: new Map() })
  }

  add(name: string, labels: Labels, by = 1): void {
    if (by === 0) return
    const series = this.#series(name, labels)
    if (series) series.value += by
  }

  observe(name: string, labels: Labels, seconds: number): void {
    const series = this.#series(name, labels)
    if (!series?.buckets) return
    series.value += seconds
    series.count++
    for (const [index, bound] of bounds.entries())
      if (seconds <= bound) series.buckets[index] = (series.buckets[index] ?? 0) + 1
  }

  #series(name: string, labels: Labels): Series | undefined {
    const metric = this.#metrics.get(name)
    if (!metric) return undefined
    const known = metric.series.get(labelText(labels))
    if (known) return known
    const isFull = metric.series.size >= this.#maxSeries
    const text = labelText(isFull ? Object.fromEntries(Object.keys(labels).map((each) => [each, 'other'])) : labels)
    const made = metric.series.get(text) ?? {
      labels: text,
      value: 0,
      count: 0,
      ...(metric.type === 'histogram' && { buckets: bounds.map(() => 0) }),
    }
    metric.series.set(text, made)
    return made
  }

  text(): string {
    return [...this.#metrics].map(([name, metric]) => metricText(name, metric)).join('')
  }
}

function metricText(name: string, { type, help, series }: Metric): string {
  const lines = [...series.values()].flatMap((each) =>
    each.buckets ? histogramLines(name, each, each.buckets) : [`${name}${braced(each.labels)} ${each.value}`],
  )
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.map((line) => `${line}\n`).join('')}`
}

function histogramLines(name: string, { labels, value, count }: Series, buckets: readonly number[]): string[] {
  const le = (bound: string): string => braced(labels === '' ? `le="${bound}"` : `${labels},le="${bound}"`)
  return [
    ...bounds.map((bound, index) => `${name}_bucket${le(String(bound))} ${buckets[index] ?? 0}`),
    `${name}_bucket${le('+Inf')} ${count}`,
    `${name}_sum${braced(labels)} ${value}`,
    `${name}_count${braced(labels)} ${count}`,
  ]
}

/** A value of this moment, as text. */
export function gaugeText(name: string, help: string, values: readonly (readonly [Labels, number])[]): string {
  const lines = values.map(([labels, value]) => `${name}${braced(labelText(labels))} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join('')}`
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')
}

const longestValue = 128

function escaped(value: string): string {
  return value.slice(0, longestValue).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
