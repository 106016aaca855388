/** Where a table's files are. */

/** For example `main/orders/`. A name that is not a plain identifier is replaced by `unique`. */
export function tableDirectory(schema: string, name: string, unique: string): string {
  const folder = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name) ? name : unique;
  return `${schema}/${folder}/`;
}

/** The directory of a path, with its trailing slash; undefined when it has none. */
export function directoryOf(path: string): string | undefined {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? undefined : path.slice(0, slash + 1);
}

/** Whether a path is relative with forward slashes, without empty, `.` or `..` segments. */
export function isLakePath(path: string): boolean {
  const segments = path.split("/");
  return (
    !path.includes("\\") && segments.every((part) => part !== "" && part !== "." && part !== "..")
  );
}
