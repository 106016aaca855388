/**
 * What came from outside is not what it claims to be. Thrown by the decoders of this folder and caught where a whole
 * input ends: nothing of that input has been taken then.
 */
export class MalformedInput extends Error {
  override readonly name = "MalformedInput";
}
