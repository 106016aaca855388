/** `replace` has some methods of `target`; the others are its own. */
export function withMethods<T extends object>(target: T, replace: Partial<T>): T {
  return new Proxy(target, {
    get: (_, key) => {
      const own: unknown = Reflect.get(replace, key);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
