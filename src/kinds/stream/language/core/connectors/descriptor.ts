/**
 * What connectors, formats and queries can be told, as data: one descriptor drives the checks of
 * `SET(…)`, the reference and, later, forms.
 */

export interface SettingDescriptor {
  /** In capital letters; keys compare case-insensitively. */
  readonly key: string;
  readonly type:
    | { readonly kind: "text" }
    /** Text of at least one character, in which `\n`, `\t` and `\r` are control characters. */
    | { readonly kind: "delimiter" }
    | { readonly kind: "integer"; readonly least: number; readonly most: number }
    | { readonly kind: "number"; readonly least: number; readonly most: number }
    | { readonly kind: "boolean" }
    /** Milliseconds, from a text such as `'5 SEC'`. */
    | { readonly kind: "duration"; readonly leastMs?: number }
    | { readonly kind: "choice"; readonly choices: readonly string[] };
  /** Absent where there is none: the setting is then absent, too, unless it is required. */
  readonly default?: string | number | boolean;
  readonly required?: boolean;
  /** Never shown again once it was given. */
  readonly secret?: boolean;
  readonly description: string;
}

/** What happens to rows when a query is killed and goes on from a checkpoint. */
export type Guarantee = "exactly once" | "at least once" | "at most once";

export interface ConnectorDescriptor {
  readonly type: string;
  readonly description: string;
  readonly settings: readonly SettingDescriptor[];
  /** Whether bytes go through a format; rows that have a schema of their own do not. */
  readonly hasFormat: boolean;
  /** Of a source: whether it can be read again from a position. */
  readonly replayable: boolean;
  readonly guarantee: Guarantee;
}

export interface FormatDescriptor {
  readonly type: string;
  readonly description: string;
  readonly settings: readonly SettingDescriptor[];
}

export const text = { kind: "text" } as const;
export const flag = { kind: "boolean" } as const;
export const duration = { kind: "duration" } as const;
export const delimiter = { kind: "delimiter" } as const;

export function choice(...choices: readonly string[]): SettingDescriptor["type"] {
  return { kind: "choice", choices };
}

export function integer(least: number, most: number): SettingDescriptor["type"] {
  return { kind: "integer", least, most };
}
