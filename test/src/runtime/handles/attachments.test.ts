/** Messages of a caller with files: paths of the thread, or new ones; and options that do not exist. */
import { expect, it } from 'vitest'
import { tinyApp } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

onEveryStore('a message of a caller', (world) => {
  it('S8, R1: brings files along: paths that the thread has, and new ones by name, in the order given', async () => {
    const { app, model } = tinyApp({ script: ['seen', 'seen'] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', files: { '/brief.md': 'a brief' } })
    const png = Uint8Array.of(137, 80, 78, 71, 0, 255)
    await thread
      .send('Look', {
        attachments: [
          { name: 'z.png', content: png },
          '/brief.md',
          { name: 'a.txt', content: 'text' },
          { name: 'a.txt', content: 'other' },
        ],
      })
      .result()
    const wanted = ['/attachments/z.png', '/brief.md', '/attachments/a.txt', '/attachments/a-2.txt']
    const [message] = await thread.messages()
    expect(message).toMatchObject({ text: `Look\n\n[attached: ${wanted.join(', ')}]`, attachments: wanted })
    expect(model.requests[0]?.messages.at(-1)?.text).toBe(message?.text)
    expect(await thread.files.readFile('/attachments/z.png')).toEqual(png)
    expect(await thread.files.readFile('/attachments/a-2.txt', 'utf8')).toBe('other')
    await thread.send('Again', { attachments: [{ name: 'z.png', content: 'another' }] }).result()
    expect((await thread.messages()).at(-2)?.attachments).toEqual(['/attachments/z-2.png'])
  })

  it('F4, S8: that is edited still says where its files are', async () => {
    const { app, model } = tinyApp({ script: ['one', 'two'] })
    const thread = await (await world.open(app)).threads.create({ agent: 'helper' })
    await thread.send('Look', { id: 'm', attachments: [{ name: 'a.txt', content: 'text' }] }).result()
    await thread.edit('m', 'See')
    await thread.send('And?').result()
    expect(model.requests[1]?.messages[0]).toMatchObject({
      text: 'See\n\n[attached: /attachments/a.txt]',
      attachments: ['/attachments/a.txt'],
    })
  })

  it('R1: is a text, or an object with the text and the options in it', async () => {
    const { app } = tinyApp({ script: ['one', 'two'] })
    const thread = await (await world.open(app)).threads.create({ agent: 'helper' })
    expect(
      await thread.send({ text: 'hello', id: 'm', silent: true, attachments: [{ name: 'x', content: '' }] }).text(),
    ).toBe('one')
    expect(await thread.messages({ silent: 'show' })).toMatchObject([
      { id: 'm', silent: true, attachments: ['/attachments/x'] },
      {},
    ])
    expect(await thread.send({ text: 'hello', id: 'm' }, { id: 'n' }).text()).toBe('two')
  })

  it('S8: with a path that is not there is refused, and nothing is sent', async () => {
    const { app, model } = tinyApp({ script: ['one'] })
    const thread = await (await world.open(app)).threads.create({ agent: 'helper' })
    await expect(thread.send('Look', { attachments: ['/no/such'] }).result()).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/nothing was sent.*\/no\/such.*\{ name, content \}/),
    })
    expect(await thread.messages()).toEqual([])
    expect(model.requests).toEqual([])
  })

  it('S8: with a link, or a link in a folder, that shows nothing is refused; one that shows a file is fine', async () => {
    const { app } = tinyApp({ script: ['one', 'two'] })
    const thread = await (await world.open(app)).threads.create({ agent: 'helper', files: { '/d/real.txt': 'real' } })
    await thread.files.symlink('/d', '/linked')
    await thread.files.symlink('/nowhere', '/broken')
    await thread.files.mkdir('/box')
    await thread.files.symlink('/nowhere', '/box/broken')
    for (const path of ['/broken', '/box'])
      await expect(thread.send('Look', { attachments: [path] }).result()).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringMatching(/nothing was sent.*broken": it is a link to \/nowhere, and nothing is there/),
      })
    expect(await thread.messages()).toEqual([])
    expect(await thread.send('Look', { attachments: ['/linked/real.txt'] }).text()).toBe('one')
    expect(await thread.send('Look', { attachments: ['/linked'] }).text()).toBe('two')
  })

  it('F5: whose files exceed the quota is refused, and nothing is sent', async () => {
    const { app } = tinyApp({ script: ['one'] })
    const thread = await (await world.open(app, { limits: { maxFileBytes: 10 } })).threads.create({ agent: 'helper' })
    await expect(
      thread.send('Look', { attachments: [{ name: 'big', content: 'x'.repeat(11) }] }).result(),
    ).rejects.toMatchObject({ code: 'FILES_QUOTA' })
    expect(await thread.files.readdir('/')).toEqual([])
  })

  it('F5, R1: a message without words and files is refused; files alone are a message', async () => {
    const { app } = tinyApp({ script: ['one'] })
    const thread = await (await world.open(app)).threads.create({ agent: 'helper' })
    for (const empty of ['', ' \n', { text: '' }, { text: '', attachments: [] }])
      await expect(thread.send(empty).text()).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringContaining('the message is empty'),
      })
    expect(await thread.messages()).toEqual([])
    expect(await thread.send('', { attachments: [{ name: 'a.txt', content: 'a' }] }).text()).toBe('one')
  })

  it.each([
    [{ attachements: [] }, /attachements/],
    [{ delivery: 'later' }, /delivery/],
    [{ attachments: ['brief.md'] }, /begins with "\/".*\{ name, content \}/s],
    [{ attachments: ['/a/../b'] }, /"\.\."/],
    [{ attachments: [{ name: 'a/b', content: '' }] }, /file name/],
    [{ attachments: [{ name: 'a', content: 7 }] }, /text or bytes/],
    [{ id: 'step_1' }, /message id/],
  ])('R1: an option that does not exist or fit is BAD_OPTION: %j', async (options, words) => {
    const { app } = tinyApp({ script: ['one'] })
    const thread = await (await world.open(app)).threads.create({ agent: 'helper' })
    const run = thread.send('hello', JSON.parse(JSON.stringify(options)))
    await expect(run.accepted()).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringMatching(words) })
    await expect(thread.inject('hello', JSON.parse('{"rol":"user"}'))).rejects.toMatchObject({ code: 'BAD_OPTION' })
    expect(await thread.messages()).toEqual([])
  })
})
