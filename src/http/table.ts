/** The table of all routes. */
import type { Route } from './route.js'
import { a2aRoutes } from './routes/a2a.js'
import { fileRoutes } from './routes/files.js'
import { mcpRoutes } from './routes/mcp.js'
import { messageRoutes } from './routes/messages.js'
import { openaiRoutes } from './routes/openai.js'
import { peopleRoutes } from './routes/people.js'
import { serviceRoutes } from './routes/service.js'
import { streamRoutes } from './routes/streams.js'
import { threadRoutes } from './routes/threads.js'
import { uiRoutes } from './routes/ui.js'
import { viewRoutes } from './routes/view.js'

export const routes: readonly Route[] = [
  ...serviceRoutes,
  ...threadRoutes,
  ...messageRoutes,
  ...streamRoutes,
  ...fileRoutes,
  ...peopleRoutes,
  ...openaiRoutes,
  ...uiRoutes,
  ...viewRoutes,
  ...mcpRoutes,
  ...a2aRoutes,
]
