/**
 * Objects with snake_case keys, as they are written and sent, and with camelCase keys, as the
 * program uses them. Keys of dictionaries are data: they stay as they are.
 */

/** `maxP99LatencyMs` is `max_p99_latency_ms`. */
type SnakeCase<Text extends string> = string extends Text
  ? Text
  : Text extends `${infer First}${infer Rest}`
    ? First extends Lowercase<First>
      ? `${First}${SnakeCase<Rest>}`
      : `_${Lowercase<First>}${SnakeCase<Rest>}`
    : Text;

export type SnakeKeys<Value> = Value extends readonly (infer Item)[]
  ? readonly SnakeKeys<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value as SnakeCase<Key & string>]: SnakeKeys<Value[Key]> }
    : Value;

/** `dictionaries` are the fields, in camelCase, whose value is a dictionary. */
export function snakeKeys<Value>(value: Value, dictionaries: readonly string[]): SnakeKeys<Value> {
  const snake = (key: string): string =>
    key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return withKeys(value, snake, dictionaries) as SnakeKeys<Value>;
}

export function camelKeys<Value>(value: SnakeKeys<Value>, dictionaries: readonly string[]): Value {
  const camel = (key: string): string =>
    key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return withKeys(value, camel, dictionaries) as Value;
}

function withKeys(
  value: unknown,
  rename: (key: string) => string,
  dictionaries: readonly string[],
): unknown {
  if (Array.isArray(value)) return value.map((item) => withKeys(item, rename, dictionaries));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const isDictionary = dictionaries.includes(key) && typeof item === "object" && item !== null;
    const next = isDictionary
      ? Object.fromEntries(
          Object.entries(item as object).map(([name, each]) => [
            name,
            withKeys(each, rename, dictionaries),
          ]),
        )
      : withKeys(item, rename, dictionaries);
    return [rename(key), next] as const;
  });
  return Object.fromEntries(entries);
}
