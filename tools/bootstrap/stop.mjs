/** A foreseeable failure: `message` is the one sentence the person sees, `log` the file that holds the rest. */
export class Stop extends Error {
  constructor(message, { log, cause } = {}) {
    super(message, { cause })
    this.name = 'Stop'
    this.log = log
  }
}

/** A signal (Ctrl-C, SIGTERM) ended the bootstrap before the script started. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted')
    this.name = 'Interrupted'
  }
}

const NETWORK =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|socket hang up|network request|Temporary failure resolving|Could not resolve|Could not connect|Connection (?:timed out|refused|failed)|Network is unreachable/i

/** True if the output of npm, apt or curl reports a missing network. */
export const saysNoNetwork = (output) => NETWORK.test(output)

/** True if files are missing because the disk is full: npm only warns of them, and exits with 0. */
export const lostFiles = (output) => /TAR_ENTRY_ERROR (?:ENOSPC|EDQUOT)/.test(output)

/** Turns npm's output into one sentence, or undefined when it is nothing foreseeable. */
export function explainNpm(output) {
  if (/EUSAGE|can only install packages when your package.json and package-lock.json/i.test(output))
    return 'package-lock.json does not fit the package.json files: run "npm install" with the pinned Node and npm, then try again.'
  if (/EINTEGRITY/.test(output)) return 'a package that was downloaded is not the one the lockfile names (checksum).'
  if (/E404|ETARGET|notarget/.test(output)) return 'the npm registry does not hold a package that is needed.'
  if (/E401|E403|ENEEDAUTH/.test(output)) return 'the npm registry refused access: check the npm configuration.'
  return (
    explainCommon(output) ??
    (saysNoNetwork(output) ? 'the npm registry cannot be reached: check the network.' : undefined)
  )
}

/** Turns apt-get's output into one sentence, or undefined when it is nothing foreseeable. */
export function explainApt(output) {
  if (/Could not get lock|is another process using it/.test(output))
    return 'another package installation is running on this system: let it finish, then try again.'
  if (/dpkg was interrupted/.test(output))
    return 'an earlier installation was interrupted: run "dpkg --configure -a" as root first.'
  if (/unmet dependencies|held broken packages/.test(output))
    return 'the package sources of this system contradict each other (unmet dependencies).'
  const common = explainCommon(output)
  if (common) return common
  // Before the next one: without the network apt also says that it cannot locate the package.
  if (saysNoNetwork(output) || /Failed to fetch|Unable to fetch/.test(output))
    return 'the package mirror of this system cannot be reached: check the network.'
  if (/Unable to locate package|has no installation candidate/.test(output))
    return 'the package sources of this system do not have it.'
  return undefined
}

function explainCommon(output) {
  if (/ENOSPC|EDQUOT|No space left|enough free (?:disk )?space/i.test(output)) return 'the disk is full.'
  if (/EACCES|EPERM|EROFS|Read-only file system/.test(output)) return 'a folder that must be written is not writable.'
  return undefined
}
