/**
 * The address of a module beside the caller's, for `new Worker(...)` and `fork(...)`: `.ts` in a clone,
 * `.js` in the published package, where the compiler rewrites import statements but not such texts.
 */
export function siblingModule(importMetaUrl: string, pathWithoutExtension: string): URL {
  const extension = importMetaUrl.endsWith(".ts") ? ".ts" : ".js";
  return new URL(`${pathWithoutExtension}${extension}`, importMetaUrl);
}
