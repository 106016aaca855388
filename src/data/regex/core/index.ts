/** Regular expressions with RE2's syntax, in time linear in the text's length. Pure. */
export { checkRegex } from "./check-regex.ts";
export { compileRegex, type TextMatcher } from "./compile-regex.ts";
export { type ByteSearcher, compileSearch } from "./compile-search.ts";
export { RegexError } from "./regex-error.ts";
