export { violationsOf } from './accessibility.js'
export * from './faults/index.js'
export { loopLagMs, quantile } from './loop-lag.js'
export { blockEventLoop, handlesOf, heapInUse, inspectable, type ProcessHandles } from './heap.js'
export {
  budgetMs,
  calmMs,
  calmStopwatch,
  freePorts,
  type LocalNats,
  natsUrlOf,
  newClusterUsers,
  startMaster,
  startMediaNode,
  startNats,
  until,
  type AppProcess,
} from '@session-service/local-stack'
export { makeCameraClip, makeCertificate, type ClipOptions } from './cameras/clips.js'
export { makeSparseClip, type SparseClipOptions } from './cameras/sparse-clip.js'
export { HttpCamera, type HttpRoutes } from './cameras/http-camera.js'
export { RtspServer, type RtspFault, type RtspServerOptions } from './cameras/rtsp-server.js'
export { findChromium, launchBrowser, type BrowserOptions, type TestBrowser } from './browser.js'
export { launchFirefox } from './firefox.js'
export { launchThrottlingChromium } from './throttling-chromium.js'
export type { BrowserTabs } from './browser-tabs.js'
export {
  descendantsOf,
  holdingsOf,
  isAlive,
  memoryOf,
  processesNamed,
  tcpPortsOf,
  udpPortsOf,
  type ProcessHoldings,
  type ProcessInfo,
} from './invariants.js'
export { RestClient, RestError, type RestAnswer } from '@session-service/rest-client'
export { basicAuth, ServiceApi } from './rest/service-api.js'
export type { Journal } from './stack/journal.js'
export { startStack, type Stack, type StackOptions } from './stack/stack.js'
export type { StackNats } from './stack/stack-nats.js'
export type { Env } from './stack/stack-env.js'
export { startTurnServer, type TurnServer } from './turn/turn-server.js'
export { createTestDatabase, type TestDatabase } from './stack/test-database.js'
export * from '@session-service/synthetic-participant'
export * from './kubernetes/index.js'
