export {
  ChildProgram,
  INHERITED_VARIABLES,
  KILL_STEPS,
  type ChildExit,
  type ChildOptions,
  type KillStep,
} from './child-program.js'
export { hasParentDeathSignal, withParentDeathSignal } from './parent-death-signal.js'
export { which } from './which.js'
