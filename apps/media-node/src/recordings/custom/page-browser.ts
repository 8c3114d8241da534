import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { Logger } from '@nestjs/common'
import { ServiceError } from '@session-service/contract'
import { z } from 'zod'
import type { Size } from '../composed/layout.js'
import { STALL_LIMITS } from '../supervision/stall.js'
import { Supervisor } from '../supervision/supervisor.js'
import { ChildProgram, type KillStep, markHandled } from '@session-service/server-kit'
import {
  BindingCalled,
  DialogOpening,
  FrameNavigated,
  FrameTree,
  Ignored,
  Paused,
  Response,
  Targets,
  Thrown,
} from './browser-messages.js'
import { DevTools } from './dev-tools.js'
import { Question } from './question.js'
import { waitFor } from './wait.js'

const START_TIMEOUT_MS = 20_000
const JOIN_TIMEOUT_MS = 20_000
/** Another document is recorded until it has joined. */
const REJOIN_TIMEOUT_MS = 10_000
/** A page may open dialogs in a loop. */
const MOST_LOGGED_DIALOGS = 10
const LONGEST_TEXT = 300
/** A busy browser answers late, and its screen is recorded meanwhile. */
const BROWSER_LIMITS = { ...STALL_LIMITS, outputMs: 10_000 }
const STOP_STEPS: readonly KillStep[] = [
  { afterMs: 0, signal: 'SIGTERM' },
  { afterMs: 2_000, signal: 'SIGKILL' },
]
/** The page calls this binding when it has joined the session or left it. */
const BINDING = '__sessionServiceRecorderTells'
const SHARED_MEMORY = '/dev/shm'

const ARGUMENTS = (
  '--remote-debugging-pipe --kiosk --test-type --no-first-run --no-default-browser-check --noerrdialogs ' +
  '--autoplay-policy=no-user-gesture-required --window-position=0,0 --force-device-scale-factor=1 --hide-scrollbars ' +
  '--disable-gpu --disable-extensions --disable-sync --disable-breakpad --disable-crash-reporter ' +
  '--disable-background-networking --disable-component-update --disable-domain-reliability --disable-default-apps ' +
  '--disable-background-timer-throttling --disable-backgrounding-occluded-windows --disable-renderer-backgrounding ' +
  '--disable-quic --disk-cache-size=1048576 --password-store=basic --use-mock-keychain --no-pings'
).split(' ')
const DISABLED = 'Translate,MediaRouter,AudioServiceSandbox,WebRtcHideLocalIpsWithMdns,GlobalMediaControls'

interface LayoutPage {
  url: string
  /** The token for one hidden connection to the session. */
  token: string
  /** Authorises requests for the page's files when the service hosts them. */
  cookie?: { name: string; value: string; path: string } | undefined
  shmSize: number
}

export interface BrowserOptions extends Size {
  program: string
  folder: string
  env: Readonly<Record<string, string>>
  hasAudio: boolean
  page: LayoutPage
  signal: AbortSignal
  /** The timeout until the browser answers. */
  startMs?: number
}

const logger = new Logger('Recording')

/** A dedicated browser that shows a layout page in full screen. */
export class PageBrowser {
  readonly #program: ChildProgram
  readonly #tools: DevTools
  readonly #joined = Promise.withResolvers<void>()
  readonly #failed = Promise.withResolvers<string | undefined>()
  readonly #origin: string
  /** The last exception of the page: the probable cause if it does not join. */
  #lastException: string | undefined
  /** The id of the frame of the page itself. */
  #frame: string | undefined
  #hasJoined = false
  #rejoin: NodeJS.Timeout | undefined
  #dialogs = 0

  private constructor(
    private readonly options: BrowserOptions,
    args: readonly string[],
  ) {
    this.#origin = new URL(options.page.url).origin
    const { program: command, env } = options
    this.#program = new ChildProgram({ command, args, env, cwd: options.folder, hasChannel: true })
    const { input, output } = this.#program.channel
    this.#tools = new DevTools(input, output, (method, params) => this.#onEvent(method, params))
    markHandled(this.#joined.promise)
    void this.#exited()
  }

  /** Resolves once the page has joined the session; rejects after a timeout or when `signal` is aborted. */
  static async open(options: BrowserOptions): Promise<PageBrowser> {
    const { signal } = options
    const browser = new PageBrowser(options, await argumentsOf(options))
    const stopped = (): void => browser.#fail('the recording was stopped')
    signal.addEventListener('abort', stopped)
    try {
      await Promise.all([browser.#join(), browser.#joined.promise])
      browser.#supervise()
      return browser
    } catch (error) {
      await browser.close()
      throw error
    } finally {
      signal.removeEventListener('abort', stopped)
    }
  }

  /** Resolves with the reason when the page no longer shows the session. */
  get failed(): Promise<string | undefined> {
    return this.#failed.promise
  }

  async close(): Promise<void> {
    await this.#program.stop(STOP_STEPS)
  }

  /** The screen is recorded even when the browser or the page hangs, so the answers of the page count as its output. */
  #supervise(): void {
    const browser = new Question(this.#tools, 'Browser.getVersion')
    const page = new Question(this.#tools, 'Runtime.evaluate', { expression: '1' })
    const supervisor = new Supervisor(
      {
        program: 'browser',
        sample: async () => {
          browser.ask()
          page.ask()
          return { output: page.answers }
        },
        onStalled: (why) => {
          if (page.isAnswered || !browser.isAnswered) this.#program.kill(why)
          else this.#onPageLost('the page hangs')
        },
      },
      BROWSER_LIMITS,
    )
    void this.#program.exited.then(() => supervisor.stop())
  }

  async #exited(): Promise<void> {
    const { failure } = await this.#program.exited
    clearTimeout(this.#rejoin)
    this.#fail(failure ?? 'the browser has ended')
    this.#failed.resolve(failure)
  }

  async #join(): Promise<void> {
    const { startMs = START_TIMEOUT_MS } = this.options
    await this.#withTimeout(startMs, 'it did not answer', () => this.#attachToPage())
    await this.#withTimeout(JOIN_TIMEOUT_MS, 'it did not call connectRecorder', async () => {
      await this.#openPage()
      await this.#joined.promise
    })
  }

  /** Fails the join when the task takes longer. */
  async #withTimeout(ms: number, why: string, task: () => Promise<void>): Promise<void> {
    const late = setTimeout(() => this.#fail(`${why} within ${ms} ms`), ms)
    await task().finally(() => clearTimeout(late))
  }

  async #attachToPage(): Promise<void> {
    const { signal } = this.options
    const gone = this.#program.exited.then(({ failure }) => Promise.reject(launchFailed(failure ?? 'it has ended')))
    const findPage = async (): Promise<string | undefined> => {
      const { targetInfos } = await this.#tools.call('Target.getTargets', {}, Targets)
      return targetInfos.find(({ type }) => type === 'page')?.targetId
    }
    const targetId = await Promise.race([gone, waitFor('the browser', findPage, { ms: START_TIMEOUT_MS, signal })])
    const Attached = z.object({ sessionId: z.string() })
    const { sessionId } = await this.#tools.call('Target.attachToTarget', { targetId, flatten: true }, Attached)
    this.#tools.useSession(sessionId)
  }

  async #openPage(): Promise<void> {
    const { width, height, page } = this.options
    const { url, cookie, token } = page
    const calls: [string, object][] = [
      // Exactly this size, independent of the minimum size of a window.
      ['Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false }],
      ['Page.enable', {}],
      ['Inspector.enable', {}],
      ['Runtime.enable', {}],
      ['Network.enable', {}],
      ['Runtime.addBinding', { name: BINDING }],
      ['Page.addScriptToEvaluateOnNewDocument', { source: tokenScript(this.#origin, token) }],
      // The page may navigate within its origin, but not to another one.
      ['Fetch.enable', { patterns: [{ resourceType: 'Document', requestStage: 'Request' }] }],
      ...(cookie ? [cookieCall(this.#origin, cookie)] : []),
    ]
    for (const [method, params] of calls) await this.#tools.call(method, params, Ignored)
    this.#frame = (await this.#tools.call('Page.getFrameTree', {}, FrameTree)).frameTree.frame.id
    const Navigated = z.object({ errorText: z.string().optional() })
    const { errorText } = await this.#tools.call('Page.navigate', { url }, Navigated)
    if (errorText !== undefined) throw launchFailed(`${url} cannot be opened: ${errorText}`)
  }

  #onEvent(method: string, params: unknown): void {
    switch (method) {
      case 'Runtime.bindingCalled':
        return this.#onBindingCalled(BindingCalled.parse(params))
      case 'Fetch.requestPaused':
        return void this.#onRequestPaused(Paused.parse(params)).catch(() => undefined)
      case 'Network.responseReceived':
        return this.#onResponse(Response.parse(params))
      case 'Page.frameNavigated':
        return this.#onFrameNavigated(FrameNavigated.parse(params))
      case 'Page.javascriptDialogOpening':
        return void this.#onDialog(DialogOpening.parse(params)).catch(() => undefined)
      case 'Inspector.targetCrashed':
        return this.#onPageLost('the page crashed')
      case 'Runtime.exceptionThrown': {
        const { text, exception } = Thrown.parse(params).exceptionDetails
        this.#lastException = exception?.description?.split('\n')[0] ?? text
      }
    }
  }

  #onBindingCalled({ name, payload }: z.infer<typeof BindingCalled>): void {
    if (name !== BINDING) return
    if (payload === 'joined') return this.#onJoined()
    const why = payload.slice(0, LONGEST_TEXT)
    this.#onPageLost(why, `the layout's page ended its part: ${why}`)
  }

  #onJoined(): void {
    clearTimeout(this.#rejoin)
    this.#hasJoined = true
    this.#joined.resolve()
  }

  /** The document that had joined is gone. The next one may join too: a page may reload itself. */
  #onFrameNavigated({ frame }: z.infer<typeof FrameNavigated>): void {
    if (frame.id !== this.#frame || !this.#hasJoined) return
    const why = `the page went to ${frame.url.replace(/[?#].*/s, '').slice(0, LONGEST_TEXT)}`
    clearTimeout(this.#rejoin)
    this.#rejoin = setTimeout(() => this.#onPageLost(why), REJOIN_TIMEOUT_MS)
  }

  /** A dialog covers the page and suspends its scripts until it is answered. */
  async #onDialog({ type, message }: z.infer<typeof DialogOpening>): Promise<void> {
    this.#dialogs++
    const text = message.slice(0, LONGEST_TEXT)
    if (this.#dialogs <= MOST_LOGGED_DIALOGS) logger.warn({ type, text }, 'accepting a dialog of a layout page')
    await this.#tools.call('Page.handleJavaScriptDialog', { accept: true }, Ignored)
  }

  async #onRequestPaused({ requestId, request }: z.infer<typeof Paused>): Promise<void> {
    if (new URL(request.url).origin === this.#origin) {
      await this.#tools.call('Fetch.continueRequest', { requestId }, Ignored)
      return
    }
    // Any other error reason would replace the page by an error page.
    await this.#tools.call('Fetch.failRequest', { requestId, errorReason: 'Aborted' }, Ignored)
  }

  #onResponse({ type, frameId, response: { url, status } }: z.infer<typeof Response>): void {
    if (type === 'Document' && frameId === this.#frame && status >= 400) this.#fail(`${url} was answered ${status}`)
  }

  /** The page no longer shows the session, before or after it has joined. */
  #onPageLost(why: string, failure = why): void {
    this.#fail(why)
    this.#failed.resolve(failure)
  }

  #fail(why: string): void {
    this.#joined.reject(launchFailed(this.#lastException === undefined ? why : `${why}; ${this.#lastException}`))
  }
}

const launchFailed = (why: string): ServiceError =>
  new ServiceError('LAUNCH_FAILED', `the layout's page cannot be recorded: ${why}`)

async function argumentsOf({ folder, width, height, hasAudio, page }: BrowserOptions): Promise<string[]> {
  const own = [`--user-data-dir=${join(folder, 'profile')}`, `--window-size=${width},${height}`]
  const { bsize, blocks } = await statfs(SHARED_MEMORY).catch(() => ({ bsize: 0, blocks: 0 }))
  return [
    ...ARGUMENTS,
    `--disable-features=${DISABLED}`,
    ...own,
    ...(bsize * blocks < page.shmSize ? ['--disable-dev-shm-usage'] : []),
    ...(hasAudio ? [] : ['--mute-audio']),
    // Chromium's sandbox does not work for root.
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    'about:blank',
  ]
}

/* oxlint-disable language/plain-english -- `tell` is the interface of layout pages */
/** Only the layout page gets the token, not the pages in its frames. */
const tokenScript = (origin: string, token: string): string => `(() => {
  if (window !== window.top || location.origin !== ${JSON.stringify(origin)}) return
  const call = window[${JSON.stringify(BINDING)}]
  const value = { token: ${JSON.stringify(token)}, tell: (text) => call(String(text)) }
  Object.defineProperty(window, 'sessionServiceRecorder', { value, configurable: true })
})()`
/* oxlint-enable language/plain-english */

const cookieCall = (
  origin: string,
  { name, value, path }: { name: string; value: string; path: string },
): [string, object] => [
  'Network.setCookie',
  { name, value, url: `${origin}${path}`, path, httpOnly: true, sameSite: 'Strict' },
]
