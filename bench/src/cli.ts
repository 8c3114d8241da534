export interface Wanted {
  benchmarks: readonly string[]
  quick: boolean
  help: boolean
}

/**
 * Reads the command line; throws naming what it does not know. Without a name all benchmarks are wanted but those of
 * `onlyByName`.
 */
export function readArguments(
  args: readonly string[],
  known: readonly string[],
  onlyByName: ReadonlySet<string> = new Set(),
): Wanted {
  const names: string[] = []
  const flags = { quick: false, help: false }
  for (const arg of args) {
    if (arg === '--quick') flags.quick = true
    else if (arg === '--help' || arg === '-h') flags.help = true
    else if (known.includes(arg)) names.push(arg)
    else throw new Error(`unknown argument ${arg}: there are ${known.join(', ')}, --quick, --help`)
  }
  return { benchmarks: names.length > 0 ? names : known.filter((name) => !onlyByName.has(name)), ...flags }
}
