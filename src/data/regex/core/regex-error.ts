/** What a pattern is refused or stopped for. The message is for people. */
export class RegexError extends Error {
  override readonly name = "RegexError";
}
