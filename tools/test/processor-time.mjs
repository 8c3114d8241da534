// Loaded into the process of a test file: at its end it writes to the file PROCESSOR_TIME_FILE how much processor time it
// and its children have used.
import { readFileSync, writeFileSync } from 'node:fs'

/** The unit of /proc/<pid>/stat on Linux. */
const TICKS_A_SECOND = 100

/** The processor time of a process and of its children that have ended, from the text of /proc/<pid>/stat, ms. */
export function processorMs(stat) {
  // The name of the program may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number)
  return ((user + system + childrenUser + childrenSystem) * 1_000) / TICKS_A_SECOND
}

const { PROCESSOR_TIME_FILE: file } = process.env
// Other processes of the tests inherit the variable, and must not write the file.
delete process.env.PROCESSOR_TIME_FILE
if (file) process.on('exit', () => writeFileSync(file, String(processorMs(readFileSync('/proc/self/stat', 'utf8')))))
