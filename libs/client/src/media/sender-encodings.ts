import type { EncodingChange } from './encodings.js'

/** Changes a sender's encodings without a negotiation. Returns false when they already have these values. */
export async function changeEncodings(sender: RTCRtpSender, wanted: readonly EncodingChange[]): Promise<boolean> {
  const parameters = sender.getParameters()
  const changed = parameters.encodings.filter((encoding, layer) => differs(encoding, wanted[layer]))
  if (changed.length === 0) return false
  parameters.encodings = parameters.encodings.map((encoding, layer) => {
    const { maxBitrate: _, ...kept } = encoding
    return { ...kept, ...wanted[layer] }
  })
  await sender.setParameters(parameters)
  return true
}

const differs = (encoding: RTCRtpEncodingParameters, wanted: EncodingChange | undefined): boolean =>
  wanted !== undefined &&
  (encoding.active !== wanted.active ||
    (encoding.scaleResolutionDownBy ?? 1) !== wanted.scaleResolutionDownBy ||
    encoding.maxBitrate !== wanted.maxBitrate)
