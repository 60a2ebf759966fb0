/**
 * The public names, all of them. A name that comes or goes is a decision: it is made here, in the same change.
 * `values` exist when the program runs, `types` only for the compiler.
 */
import { existsSync, readFileSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { importsOf, readSources } from '../scripts/source.js'
import { exportsOf } from './helpers/exports.js'

interface Door {
  readonly path: string
  readonly values: readonly string[]
  readonly types: readonly string[]
}

const doors: readonly Door[] = [
  {
    path: 'src/index.ts',
    values: [
      'SkeinError',
      'appTypes',
      'connectSkein',
      'createSkein',
      'defineAgent',
      'defineHook',
      'defineModel',
      'definePrompt',
      'defineProviderTool',
      'defineThreadEndpoint',
      'defineTool',
      'diagnose',
      'failureGroup',
      'finishReasonIs',
      'fromA2A',
      'fromAiSdk',
      'fromMcp',
      'fromSkills',
      'fromTools',
      'hasToolCall',
      'hostTools',
      'local',
      'machineOutline',
      'maxCost',
      'maxTokensUsed',
      'memory',
      'nats',
      'stepCountIs',
      'threadStatuses',
      'toolMetadata',
      'watchApp',
    ],
    types: [
      'A2aAgent',
      'AgentDefinition',
      'AgentOutline',
      'AppNames',
      'AppOutline',
      'AppSource',
      'AppWatch',
      'Attachment',
      'Budget',
      'Call',
      'ChildEntry',
      'ChildView',
      'Clock',
      'CodeOptions',
      'CodeResult',
      'CodeRun',
      'ContextOptions',
      'ContextQuery',
      'ContextUpdate',
      'CreateThread',
      'Crossing',
      'DeadLetter',
      'DeadLetters',
      'Definition',
      'DeltaEvent',
      'DiagnoseOptions',
      'DiffOptions',
      'DirectoryChange',
      'DirectoryPage',
      'DurableEvent',
      'EffectResolution',
      'Effects',
      'Endpoint',
      'EndpointDefinition',
      'EndpointParams',
      'EnvName',
      'EventOptions',
      'ExportOptions',
      'Failure',
      'FailureCode',
      'FailureGroup',
      'FileStat',
      'Files',
      'Finding',
      'FinishReason',
      'ForeignOptions',
      'ForeignTools',
      'ForkOptions',
      'GrantOptions',
      'HoldReason',
      'HookDefinition',
      'HookInput',
      'HookPoint',
      'HookResult',
      'HookThread',
      'HostEvent',
      'HostInfo',
      'HostProfile',
      'HostToolsOptions',
      'Inbox',
      'InboxFilter',
      'InboxItem',
      'InferPromptInput',
      'InferPromptOutput',
      'InferToolContext',
      'InferToolEvent',
      'InferToolInput',
      'InferToolOutput',
      'InjectOptions',
      'Json',
      'KeyOptions',
      'LeftOutMessage',
      'Limits',
      'MachineEdge',
      'MachineOutline',
      'Match',
      'MaxToolRounds',
      'McpDefinition',
      'McpEndpoint',
      'McpOptions',
      'McpProcess',
      'Message',
      'Model',
      'ModelDefinition',
      'ModelReply',
      'ModelRequest',
      'ModelUsage',
      'NatsCredentials',
      'NatsOptions',
      'NumberedMessage',
      'Outcome',
      'Point',
      'PromptDefinition',
      'PromptPart',
      'PromptStopWhen',
      'Random',
      'ReasonOption',
      'RecordPage',
      'Reloaded',
      'RemovedTree',
      'RewindOptions',
      'Rewound',
      'Run',
      'RunCall',
      'RunResult',
      'RunStreams',
      'ScheduleTime',
      'Scheduled',
      'SendMessage',
      'SendOptions',
      'Side',
      'SideEffect',
      'SideOutline',
      'Skein',
      'SkeinClient',
      'SkeinEvent',
      'SkeinOptions',
      'StopCondition',
      'StopFunction',
      'StopReason',
      'StopWhen',
      'Store',
      'StreamOptions',
      'SubagentTool',
      'SubpromptTool',
      'Supervision',
      'Thread',
      'ThreadAt',
      'ThreadChange',
      'ThreadContext',
      'ThreadCounts',
      'ThreadDiff',
      'ThreadDirectory',
      'ThreadEnv',
      'ThreadExport',
      'ThreadFiles',
      'ThreadFilter',
      'ThreadInfo',
      'ThreadProjection',
      'ThreadQuery',
      'ThreadRecord',
      'ThreadStateInfo',
      'ThreadStatus',
      'ThreadUsage',
      'ThreadValues',
      'ThreadView',
      'ThreadViewOptions',
      'ThreadWait',
      'TimelinePage',
      'TimelineRow',
      'ToolCallOf',
      'ToolContexts',
      'ToolDefinition',
      'ToolEvent',
      'ToolKind',
      'ToolMetadata',
      'ToolState',
      'Tree',
      'TreeOption',
      'TreeReset',
      'TurnAfterStep',
      'TurnSoFar',
      'Usage',
      'Variable',
      'VariableRequest',
      'Variables',
      'ViewOptions',
      'WaitOptions',
      'WatchAppOptions',
    ],
  },
  {
    path: 'src/testing.ts',
    values: ['SimulationFailure', 'manualClock', 'pinRequests', 'replay', 'scriptedModel', 'simulate', 'simulateFile'],
    types: [
      'Divergence',
      'DivergenceKind',
      'Fault',
      'FaultChoice',
      'FaultOptions',
      'Ledger',
      'LedgerEntry',
      'ManualClock',
      'PinOptions',
      'ReplayOptions',
      'ReplayReport',
      'ReplaySource',
      'SeedOptions',
      'Service',
      'ServiceOptions',
      'SimContext',
      'SimReport',
      'SimulateOptions',
      'World',
    ],
  },
  {
    path: 'src/observe.ts',
    values: ['log', 'metrics', 'otel', 'otlp'],
    types: [
      'EndedSpan',
      'HostGauges',
      'LogOptions',
      'Logger',
      'MetricsOptions',
      'Observation',
      'ObservedHost',
      'Observer',
      'OtelOptions',
      'OtlpOptions',
      'SpanOptions',
    ],
  },
  {
    path: 'src/client.ts',
    values: ['SkeinError', 'connect'],
    types: [
      'RemoteCreateThread',
      'RemoteEndpointRequest',
      'RemoteFiles',
      'RemoteFilesThen',
      'RemoteHeads',
      'RemoteInbox',
      'RemoteOptions',
      'RemoteProjection',
      'RemoteRun',
      'RemoteSendMessage',
      'RemoteSendOptions',
      'RemoteSkein',
      'RemoteStreamEvent',
      'RemoteStreamOptions',
      'RemoteThread',
      'RemoteThreadChange',
      'RemoteThreadView',
      'RemoteTravel',
    ],
  },
]

/** A name a line, where the formatter needs them. */
const oneScreen = 120

describe.each(doors)('$path', ({ path, values, types }) => {
  const url = new URL(`../${path}`, import.meta.url)
  const read = (): string => readFileSync(fileURLToPath(url), 'utf8')

  it('exists', () => {
    expect(existsSync(url), `${path} does not exist yet`).toBe(true)
  })

  it('exports these values', async () => {
    const real: object = await import(url.href)
    expect(Object.keys(real).sort()).toEqual([...values])
  })

  it('names these values and types', () => {
    const { values: named, types: namedTypes } = exportsOf({ path, text: read() })
    expect(named).toEqual([...values])
    expect(namedTypes).toEqual([...types])
  })

  it('is one screen of explicit exports and nothing else', () => {
    const { other } = exportsOf({ path, text: read() })
    expect(other).toEqual([])
    expect(read().trimEnd().split('\n').length).toBeLessThanOrEqual(oneScreen)
  })
})

it('importing Skein loads nothing of the runtime, the actors or an opened store', () => {
  const sources = new Map(
    readSources(fileURLToPath(new URL('..', import.meta.url)), ['src', 'actors']).map((source) => [
      source.path,
      source,
    ]),
  )
  const loaded = new Set<string>()
  const load = (path: string): void => {
    const source = sources.get(path)
    if (!source || loaded.has(path)) return
    loaded.add(path)
    const lines = source.text.split('\n')
    for (const { target, typeOnly, line } of importsOf(source))
      if (target !== undefined && !typeOnly && !lines[line - 1]?.includes('import(')) load(target)
  }
  load('src/index.ts')
  const heavy = [...loaded].filter((path) => /^actors\/|^src\/(?:runtime|pool|backend\/\w+)\//.test(path))
  // A store in memory is all of it; the others are opened by what they import later.
  expect(heavy.sort()).toEqual([
    'src/backend/local/local.ts',
    'src/backend/memory/memory.ts',
    'src/backend/memory/store.ts',
    'src/backend/nats/nats.ts',
    'src/runtime/endpoint.ts',
    'src/runtime/open.ts',
  ])
})

it('E7: what the doors declare names no package but zod, memfs and Node: no other types are needed to compile', async () => {
  const dist = fileURLToPath(new URL('../dist/', import.meta.url))
  const files = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith('.d.ts'))
  expect(files).toContain('src/index.d.ts')
  const named = new Set<string>()
  for (const file of files)
    for (const [, name = ''] of (await readFile(join(dist, file), 'utf8')).matchAll(
      /(?:from|import\()\s*['"]((?!\.)[^'"]+)['"][;)]/g,
    ))
      named.add(name)
  expect([...named].filter((name) => !name.startsWith('node:')).toSorted()).toEqual(['memfs', 'zod'])
})

describe('reading the exports of a door', () => {
  const read = (text: string) => exportsOf({ path: 'src/index.ts', text })

  it('tells values from types, and renamed names', () => {
    expect(
      read(
        `/** Door. */\nexport { b, type C, d as a } from './x.js'\nexport type { F, E as D } from ` +
          `'./y.js'\nexport {\n  g,\n} from './z.js'\n`,
      ),
    ).toEqual({
      values: ['a', 'b', 'g'],
      types: ['C', 'D', 'F'],
      other: [],
    })
  })

  it.each([
    ['export const a = 1'],
    ['export function a() {}'],
    [`export * from './x.js'`],
    [`export * as x from './x.js'`],
    [`import { a } from './x.js'`],
    ['const a = 1'],
  ])('refuses %s', (line) => {
    expect(read(`export { b } from './b.js'\n${line}\n`).other).toEqual([`src/index.ts:2 ${line}`])
  })
})
