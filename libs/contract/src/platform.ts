const BROWSERS: readonly (readonly [name: string, version: RegExp])[] = [
  ['Edge', /Edg(?:A|iOS)?\/([\d.]+)/],
  ['Opera', /OPR\/([\d.]+)/],
  ['Samsung Internet', /SamsungBrowser\/([\d.]+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/([\d.]+)/],
  ['Chrome', /(?:Chrome|CriOS)\/([\d.]+)/],
  ['Safari', /Version\/([\d.]+).* Safari\//],
]
const SYSTEMS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad|iPod/],
  ['Windows', /Windows/],
  ['ChromeOS', /CrOS/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
]

/** Returns, for example, `Chrome 154.0.0.0 on Linux`, or an unknown user agent cut to 512 characters. */
export function describePlatform(userAgent: string): string {
  const browser = BROWSERS.find(([, version]) => version.test(userAgent))
  const system = SYSTEMS.find(([, mark]) => mark.test(userAgent))
  if (!browser || !system) return userAgent.slice(0, 512)
  return `${browser[0]} ${browser[1].exec(userAgent)?.[1] ?? ''} on ${system[0]}`
}
