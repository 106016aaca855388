/**
 * The URL of a module next to the caller's, for `new Worker(...)` and `fork(...)`: `.ts` in a
 * clone, `.js` in the published package, because the compiler rewrites import statements but not
 * strings.
 */
export function siblingModule(importMetaUrl: string, pathWithoutExtension: string): URL {
  const extension = importMetaUrl.endsWith(".ts") ? ".ts" : ".js";
  return new URL(`${pathWithoutExtension}${extension}`, importMetaUrl);
}
