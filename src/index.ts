/** Skein's public door for embedders. The command line uses nothing else. */
export { defineAgent, defineModel, definePrompt, defineProviderTool, defineTool } from './agent/define.js'
export { defineHook } from './agent/define-hook.js'
export { finishReasonIs, hasToolCall, maxCost, maxTokensUsed, stepCountIs } from './agent/stop.js'
export { toolMetadata } from './agent/effect.js'
export { fromSkills } from './agent/skills.js'
export { fromMcp, fromTools } from './tools/foreign/from-tools.js'
export { hostTools } from './tools/own/host-tools.js'
export { defineThreadEndpoint } from './runtime/endpoint.js'
export { appTypes, connectSkein, createSkein, diagnose, machineOutline, watchApp } from './runtime/open.js'
export { local } from './backend/local/local.js'
export { memory } from './backend/memory/memory.js'
export { nats } from './backend/nats/nats.js'
export { SkeinError, failureGroup } from './core/failure.js'
export { threadStatuses } from './core/records/status.js'
export { fromAiSdk } from './models/ai-sdk/adapter.js'
export { fromA2A } from './models/a2a/from-a2a.js'

export type {
  AgentDefinition,
  ContextOptions,
  Definition,
  ModelDefinition,
  PromptDefinition,
  PromptPart,
  Side,
  SubagentTool,
  SubpromptTool,
  Supervision,
  ToolDefinition,
  ToolState,
  Variable,
} from './agent/define.js'
export type { HookDefinition, HookInput, HookPoint, HookResult, HookThread } from './agent/define-hook.js'
export type { ToolKind, ToolMetadata } from './agent/effect.js'
export type { AgentOutline, AppOutline, SideOutline } from './agent/outline.js'
export type { AppNames } from './agent/naming.js'
export type {
  InferPromptInput,
  InferPromptOutput,
  InferToolContext,
  InferToolEvent,
  InferToolInput,
  InferToolOutput,
  ToolCallOf,
} from './agent/infer.js'
export type { MaxToolRounds, PromptStopWhen, StopFunction, StopWhen, TurnAfterStep, TurnSoFar } from './agent/stop.js'
export type { ThreadWait } from './runtime/effects/model-gates.js'
export type { CreateThread, EffectResolution, Effects, SideEffect, SkeinClient } from './runtime/handles/client.js'
export type { Limits, SkeinOptions } from './runtime/options.js'
export type { Endpoint, EndpointDefinition, EndpointParams } from './runtime/endpoint.js'
export type { Reloaded } from './runtime/reloads.js'
export type { Skein } from './runtime/skein.js'
export type { AppSource } from './runtime/app/load.js'
export type { AppWatch, WatchAppOptions } from './runtime/app/watch.js'
export type {
  Attachment,
  InjectOptions,
  SendMessage,
  SendOptions,
  ToolContexts,
} from './runtime/handles/sent-message.js'
export type { ContextQuery, LeftOutMessage, ThreadContext } from './runtime/handles/thread-context.js'
export type { EventOptions, RecordPage, Thread, ThreadStateInfo, ThreadUsage } from './runtime/handles/thread.js'
export type { ExportOptions, ThreadExport } from './runtime/handles/thread-export.js'
export type { Crossing } from './runtime/handles/travel/crossing.js'
export type { DiffOptions, ThreadAt, ThreadDiff } from './runtime/handles/travel/diff.js'
export type { ForkOptions } from './runtime/handles/travel/fork.js'
export type { Point } from './runtime/handles/travel/points.js'
export type { RewindOptions, Rewound } from './runtime/handles/travel/rewind.js'
export type { TimelinePage, TimelineRow } from './runtime/handles/travel/timeline.js'
export type { KeyOptions } from './runtime/secrets/key-source.js'
export type { GrantOptions, ReasonOption, TreeOption } from './runtime/handles/options.js'
export type { ThreadFilter, ThreadInfo, ThreadQuery, ThreadStatus } from './runtime/watch/directory/thread-info.js'
export type { EnvName, ThreadEnv } from './runtime/handles/thread-env.js'
export type { VariableRequest, Variables } from './runtime/handles/variable-requests.js'
export type { ThreadFiles } from './runtime/handles/thread-files.js'
export type { ThreadValues } from './runtime/handles/thread-values.js'
export type { ChildEntry, Tree } from './runtime/handles/thread-tree.js'
export type { Run, WaitOptions } from './runtime/watch/run.js'
export type { RunStreams, StreamOptions, ToolEvent } from './runtime/watch/run-streams.js'
export type { ContextUpdate, RunCall, RunResult, ThreadProjection } from './runtime/watch/projection.js'
export type { ChildView } from './runtime/watch/child-views.js'
export type { ThreadChange, ThreadView, ThreadViewOptions, ViewOptions } from './runtime/watch/view.js'
export type { DeadLetter, DeadLetters } from './runtime/handles/dead-letters.js'
export type { Inbox, InboxFilter } from './runtime/handles/inbox.js'
export type { InboxItem } from './runtime/watch/directory/inbox-item.js'
export type { DirectoryChange, ThreadCounts, ThreadDirectory } from './runtime/watch/directory/directory.js'
export type { MachineEdge, MachineOutline } from './core/records/machine-outline.js'
export type { DirectoryPage, RemovedTree } from './runtime/watch/directory/head-changes.js'
export type { FileStat, Files, Match } from './files/port.js'
export type { CodeOptions, CodeResult, CodeRun } from './tools/code.js'
export type {
  ForeignOptions,
  ForeignTools,
  McpDefinition,
  McpEndpoint,
  McpOptions,
  McpProcess,
} from './tools/foreign/from-tools.js'
export type { HostToolsOptions } from './tools/own/host-tools.js'
export type { NatsCredentials, NatsOptions } from './backend/nats/nats.js'
export type { HostInfo, HostProfile } from './backend/host-info.js'
export type { HostEvent } from './runtime/host/host.js'
export type { Store } from './backend/port.js'
export type { Budget } from './core/budget.js'
export type { Random, Clock } from './core/clock.js'
export type { DeltaEvent, DurableEvent, SkeinEvent, TreeReset } from './core/records/event.js'
export type { Outcome } from './core/effect.js'
export type { Finding } from './core/finding.js'
export type { DiagnoseOptions } from './runtime/diagnose.js'
export type { Failure, FailureCode, FailureGroup } from './core/failure.js'
export type { Json } from './core/json.js'
export type { Call, Message, NumberedMessage } from './core/records/message.js'
export type { FinishReason, HoldReason, StopReason, ThreadRecord } from './core/records/record.js'
export type { StopCondition } from './core/records/stop.js'
export type { ScheduleTime, Scheduled } from './core/records/schedule.js'
export type { ModelUsage, Usage } from './core/usage.js'
export type { A2aAgent } from './models/a2a/from-a2a.js'
export type { Model, ModelReply, ModelRequest } from './models/port.js'
