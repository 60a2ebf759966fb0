/** The card of an agent: how clients of A2A find out what it does and where it is reached. */
import type { AgentOutline } from '../../index.js'

export const protocolVersion = '1.0'

export function cardOf({ name, description }: AgentOutline, url: string, version: string): object {
  const words = description ?? `The agent ${name}`
  return {
    name,
    description: words,
    version,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion }],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: { key: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { key: { list: [] } } }],
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [{ id: name, name, description: words, tags: ['agent'] }],
  }
}
