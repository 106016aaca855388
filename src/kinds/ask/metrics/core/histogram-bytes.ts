/** One native histogram as bytes of its own: in segments, slices and the log. */
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import {
  decodeHistogram as decode,
  encodeHistogram as encode,
  type FloatHistogram,
} from "../../promql/core/index.ts";

export function encodeHistogram(histogram: FloatHistogram): Uint8Array {
  return encode(histogram);
}

/** `like`: one whose layout is probably the same, to share its arrays. */
export function decodeHistogram(bytes: Uint8Array, like?: FloatHistogram): FloatHistogram {
  try {
    const { histogram, next } = decode(bytes, 0, like);
    if (next === bytes.length) return histogram;
  } catch (thrown) {
    throw new OperatingError("artifact_corrupt", "never", `a histogram: ${messageOf(thrown)}`);
  }
  throw new OperatingError("artifact_corrupt", "never", "a histogram is longer than it says");
}
