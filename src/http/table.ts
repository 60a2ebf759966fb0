/** The table of all routes. */
import type { Route } from './route.js'
import { a2aRoutes } from './routes/a2a.js'
import { endpointRoutes } from './routes/endpoints.js'
import { fileRoutes } from './routes/files.js'
import { inspectRoutes } from './routes/inspect.js'
import { mcpRoutes } from './routes/mcp.js'
import { messageRoutes } from './routes/messages.js'
import { openaiRoutes } from './routes/openai.js'
import { pageRoutes } from './routes/page.js'
import { peopleRoutes } from './routes/people.js'
import { serviceRoutes } from './routes/service.js'
import { streamRoutes } from './routes/streams.js'
import { threadRoutes } from './routes/threads.js'
import { travelRoutes } from './routes/travel.js'
import { viewRoutes } from './routes/views.js'
import { uiRoutes } from './routes/ui.js'

export const routes: readonly Route[] = [
  ...serviceRoutes,
  ...threadRoutes,
  ...messageRoutes,
  ...inspectRoutes,
  ...travelRoutes,
  ...streamRoutes,
  ...viewRoutes,
  ...fileRoutes,
  ...peopleRoutes,
  ...endpointRoutes,
  ...openaiRoutes,
  ...uiRoutes,
  ...pageRoutes,
  ...mcpRoutes,
  ...a2aRoutes,
]
