/**
 * Shortens each path in an error to its last name, because readers of an error must not learn where
 * this server keeps its files. Paths that the user wrote, in `written`, stay unchanged.
 */
export function withoutPaths(message: string, written = ""): string {
  const shown = (found: string, path: string, short: string): string =>
    written.includes(path) ? found : short;
  return message
    .replaceAll(/(["'])(\/[^"'\n]*\/([^"'/\n]*))\1/g, (found, quote, path, name) =>
      shown(found, path, `${quote}${name}${quote}`),
    )
    .replaceAll(/(?<![\w:/.])\/(?:[^\s"'/]+\/)+([^\s"'/]*)/g, (found, name) =>
      shown(found, found, name),
    );
}
