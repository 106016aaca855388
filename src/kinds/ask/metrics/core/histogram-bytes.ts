/** Encodes one native histogram as bytes, for segments, slices and the log. */
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import {
  decodeHistogram as decode,
  encodeHistogram as encode,
  type FloatHistogram,
} from "../../promql/core/index.ts";

export function encodeHistogram(histogram: FloatHistogram): Uint8Array {
  return encode(histogram);
}

/** `like` is a histogram that probably has the same layout; its arrays are shared. */
export function decodeHistogram(bytes: Uint8Array, like?: FloatHistogram): FloatHistogram {
  try {
    const { histogram, next } = decode(bytes, 0, like);
    if (next === bytes.length) return histogram;
  } catch (thrown) {
    throw new OperatingError("artifact_corrupt", "never", `a histogram: ${messageOf(thrown)}`);
  }
  throw new OperatingError("artifact_corrupt", "never", "a histogram is longer than it says");
}
