/** Where this server keeps its files is no business of whoever reads its errors: of a path only the last name stays. */
export function withoutPaths(message: string): string {
  return message
    .replaceAll(/(["'])\/[^"'\n]*\/([^"'/\n]*)\1/g, "$1$2$1")
    .replaceAll(/(?<![\w:/.])\/(?:[^\s"'/]+\/)+([^\s"'/]*)/g, "$1");
}
