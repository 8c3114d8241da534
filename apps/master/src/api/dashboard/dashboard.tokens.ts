/** The sign-ins of this application, which exist before Nest does. */
export const SIGN_INS = Symbol('sign-ins')
