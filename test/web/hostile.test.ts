/**
 * Texts of models, tools and files that want more than to be read. Nothing of them becomes markup, nothing is asked of
 * another origin, no policy is broken, and the page stays quick. (A short corpus is in page.test.ts.)
 */
import { expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { createSkein, memory } from '../../src/index.js'
import { serve } from '../../src/server.js'
import { looseTool, tinyApp } from '../helpers/app.js'
import { browser, isLive, isWhole, look, useBrowser } from './browser.js'

const closing = useBrowser()

const markup = [
  `"><script>globalThis.hurt = 1</script><img src=x onerror="globalThis.hurt = 1">`,
  `<svg><animate onbegin="globalThis.hurt=1" attributeName=x dur=1s></svg>`,
  `[x](JaVaScRiPt:globalThis.hurt=1) [y](data:text/html,hurt) [z](vbscript:x) <javascript:globalThis.hurt=1>`,
  `![p](http://192.0.2.1/pixel.png "t") <img srcset="http://192.0.2.1/a 1x"> <link rel=prefetch href=http://192.0.2.1>`,
  '```html\n<iframe srcdoc="<script>parent.hurt=1</script>"></iframe>\n```',
  `| a |\n|---|\n| <b onmouseover="globalThis.hurt=1">cell</b> |`,
  `\u202Eevil\u202C \u2066x\u2069 \u001B]8;;http://192.0.2.1\u0007link\u001B]8;;\u0007 \u001B[2J \uD800 \u0000`,
  `<form action=http://192.0.2.1><button>go</button></form><meta http-equiv=refresh content="0;url=http://192.0.2.1">`,
  `{{constructor.constructor('globalThis.hurt=1')()}} \${globalThis.hurt=1} <template><script>1</script></template>`,
].join('\n\n')

function deepJson(levels: number): unknown {
  let value: unknown = markup
  for (let level = 0; level < levels; level++) value = { [`"><img src=x onerror=alert(${level})>`]: value }
  return value
}

const manyKeys = Object.fromEntries(Array.from({ length: isWhole ? 100_000 : 5_000 }, (_, at) => [`<b>${at}`, at]))
const names = [
  '..%2f..%2fpasswd',
  '%2e%2e',
  `a"b'c<img src=x onerror=alert(1)>.txt`,
  'javascript:alert(1)',
  '\u202Egnp.txt',
]

interface World {
  readonly url: string
}

async function open(): Promise<World> {
  const plant = looseTool('plant', async (state) => {
    for (const name of names) await state.files.writeFile(`/${name}`, markup)
    return { deep: deepJson(100), many: manyKeys, [markup]: markup }
  })
  const { app } = tinyApp({
    tools: [plant],
    script: ({ step }) =>
      step === 0
        ? { calls: [{ tool: 'plant', args: { [markup]: deepJson(50) } }], text: markup, reasoning: markup }
        : { text: `${markup}\n\n${'x'.repeat(isWhole ? 10_000_000 : 500_000)}` },
  })
  const skein = await createSkein({ app, backend: memory() })
  const server = await serve(skein, { auth: 'none', port: 0 })
  closing.push(async () => {
    await server.close()
    await skein.close()
  })
  const thread = await skein.threads.create({ agent: 'helper', id: 'evil' })
  await thread.send(markup).result()
  return { url: server.url }
}

async function expectHarmless(page: Page, place: string): Promise<void> {
  expect(await page.evaluate('globalThis.hurt'), place).toBeUndefined()
  const markupIn = await page.evaluate<string[]>(`
    [...document.querySelectorAll('main img, main iframe, main script, main link, main meta, main object, main template, main animate, main form[action]')].map((each) => each.outerHTML.slice(0, 200))
  `)
  expect(markupIn, place).toEqual([])
  const links = await page.evaluate<string[]>(
    `[...document.querySelectorAll('main a[href]')].map((each) => each.protocol).filter((each) => !/^(https?|mailto):$/.test(each))`,
  )
  expect(links, place).toEqual([])
  const handlers = await page.evaluate<number>(
    `[...document.querySelectorAll('main *')].filter((each) => [...each.attributes].some(({ name }) => name.startsWith('on'))).length`,
  )
  expect(handlers, place).toBe(0)
}

it('V1: whatever models, tools and files say stays text, in every place that shows it', async () => {
  const { url } = await open()
  const { page, faults } = await look(browser, `${url}/ui/trees`)
  const file = encodeURIComponent(`/${names[2]}`)
  const some = ['trees', 'threads/evil', 'threads/evil/steps', `threads/evil/files?file=${file}`]
  const more = ['trees/evil', 'threads/evil/state', 'threads/evil/records', 'threads/evil/files', 'agents', 'effects']
  for (const place of isWhole ? [...some, ...more] : some) {
    await page.goto(`${url}/ui/${place}`)
    await isLive(page)
    await page.waitForSelector(
      '.table-row, .message, .step, .file-text, .tree-row, .statechart, .card, .empty, table, ol, form',
    )
    if (place.endsWith('records'))
      for (const summary of (await page.locator('main details > summary').all()).slice(0, 20)) await summary.click()
    await expectHarmless(page, place)
  }
  expect(faults).toEqual([])
})
