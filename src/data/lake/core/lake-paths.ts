/** Where a table's files are. */

/** `main/orders/`; a name that is no plain identifier gives way to the table's own unique text. */
export function tableDirectory(schema: string, name: string, unique: string): string {
  const folder = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name) ? name : unique;
  return `${schema}/${folder}/`;
}

/** Directory of a path, with its slash; `undefined`: it has none. */
export function directoryOf(path: string): string | undefined {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? undefined : path.slice(0, slash + 1);
}

/** LM2: relative, forward slashes, nothing empty, no dots that climb. */
export function isLakePath(path: string): boolean {
  const segments = path.split("/");
  return (
    !path.includes("\\") && segments.every((part) => part !== "" && part !== "." && part !== "..")
  );
}
