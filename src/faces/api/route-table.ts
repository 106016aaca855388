/** The methods of each path, so that a wrong method gets a 405 with the right ones. */
export class RouteTable {
  readonly #routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];

  add(method: string | readonly string[], url: string): void {
    if (url.includes("*")) return;
    const pattern = url.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/:[a-z_]+/g, "[^/]+");
    const methods = typeof method === "string" ? [method] : method;
    this.#routes.push({ pattern: new RegExp(`^${pattern}$`), methods });
  }

  /** Sorted. Empty for an unknown path. */
  methodsOf(path: string): readonly string[] {
    const matching = this.#routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.flatMap(({ methods }) => methods))].sort((a, b) =>
      a.localeCompare(b),
    );
  }
}
