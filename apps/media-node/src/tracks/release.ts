/** Ends a use; further calls have no effect. */
export type Release = () => void

export function once(act: () => void): Release {
  let done = false
  return () => {
    if (done) return
    done = true
    act()
  }
}
