/** Why a language model cannot be used: the language has no folder, or its folder holds no usable model. */
export class ModelError extends Error {
  override readonly name = 'ModelError'

  constructor(
    readonly code: 'unknown-language' | 'invalid-model',
    message: string,
  ) {
    super(message)
  }
}
