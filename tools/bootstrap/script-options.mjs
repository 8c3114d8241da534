// Options of the scripts: they are checked before anything is prepared, so that --help and a wrong option answer at once.
const MODULES = { start: '../launcher/options.mjs', bench: '../../bench/options.mjs' }

/** `{ help }`, `{ error }` or `{ options }` for the arguments of a script; `{}` where a purpose has no option module. */
export async function readScriptOptions({ purpose, script, args }) {
  const module = MODULES[purpose]
  if (!script || !module) return {}
  const { HELP, parseOptions } = await import(module)
  try {
    const options = parseOptions(args)
    return options.help ? { help: HELP } : { options }
  } catch (error) {
    if (error.name !== 'OptionError') throw error
    return {
      error: `${error.message} (npm ${purpose === 'start' ? 'start' : `run ${purpose}`} -- --help lists the options)`,
    }
  }
}
