/** The state of one source of the announced address. */
export type SourceState =
  | { readonly kind: 'address'; readonly address: string }
  /** Configured, without an address so far: it may still give one. `reason` says why. */
  | { readonly kind: 'pending'; readonly reason: string }
  /** It will never give an address. */
  | { readonly kind: 'absent'; readonly reason: string }

export type ReadSource = readonly [name: string, state: SourceState]

/**
 * The announced address: that of the first source which has one. While `isWaiting`, a source that may still give an
 * address holds back the later ones, so that a node does not begin with an address which it replaces a moment later.
 */
export function chooseAddress(sources: readonly ReadSource[], isWaiting: boolean): string | undefined {
  for (const [, state] of sources) {
    if (state.kind === 'address') return state.address
    if (state.kind === 'pending' && isWaiting) return undefined
  }
  return undefined
}

/** Why no source has an address, for the log. */
export const reasonsOf = (sources: readonly ReadSource[]): string =>
  sources.map(([name, state]) => `${name}: ${state.kind === 'address' ? state.address : state.reason}`).join('; ')
