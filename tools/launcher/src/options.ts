export { HELP, type LauncherOptions, OptionError, parseOptions } from '../options.mjs'
