/**
 * Where this server keeps its files is no business of whoever reads its errors: of a path only the
 * last name stays. Paths that a person wrote, in the text `written`, stay as they are.
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
