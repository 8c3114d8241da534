import { type BrowserTabs, launchTabs } from './browser-tabs.js'

/** Granted fake cameras and microphones, with which pages get all addresses of this machine, also those of loopback. */
const PREFERENCES = {
  'media.navigator.streams.fake': true,
  'permissions.default.camera': 1,
  'permissions.default.microphone': 1,
  'media.autoplay.default': 0,
  'media.peerconnection.ice.loopback': true,
  'media.peerconnection.ice.obfuscate_host_addresses': false,
}

/** Starts the Firefox of the distribution, which the library of the Chromium tests cannot drive. */
export const launchFirefox = (executablePath: string): Promise<BrowserTabs> =>
  launchTabs({ browser: 'firefox', executablePath, extraPrefsFirefox: PREFERENCES })
