/**
 * Input from outside is not what it claims to be. The decoders of this folder throw it, before
 * anything of the input has been taken.
 */
export class MalformedInput extends Error {
  override readonly name = "MalformedInput";
}
