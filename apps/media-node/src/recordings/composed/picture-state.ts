/** Whether a stream shows its picture or its name: a picture from before a mute is not shown again. */
export class PictureState {
  /** Whether a picture has been decoded since the last mute. */
  #hasPicture = false
  #needsNewPicture = false

  /** `isWanted`: whether the stream has an unmuted video. Returns whether its next picture has to be awaited. */
  changed(isWanted: boolean): boolean {
    if (!isWanted) {
      this.#needsNewPicture ||= this.#hasPicture
      this.#hasPicture = false
      return false
    }
    const awaits = this.#needsNewPicture
    this.#needsNewPicture = false
    return awaits
  }

  /** A picture was decoded. Returns whether the appearance of the stream has changed. */
  decoded(isWanted: boolean): boolean {
    if (this.#hasPicture) return false
    // The last pictures of a muted stream arrive late.
    if (isWanted) this.#hasPicture = true
    else this.#needsNewPicture = true
    return this.#hasPicture
  }

  get hasPicture(): boolean {
    return this.#hasPicture
  }
}
