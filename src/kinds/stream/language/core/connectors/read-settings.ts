/** Checks `SET(…)` against descriptors, and fills the defaults in. */
import { DialectError, type DialectErrorNumber, type Position } from "../dialect-error.ts";
import type { AstField, AstSetting } from "../parse/ast.ts";
import { durationOfText } from "../parse/durations.ts";
import type { Settings } from "../plan.ts";
import { secretReference } from "../secrets.ts";
import { didYouMean } from "../suggest.ts";
import type { ConnectorDescriptor, FormatDescriptor, SettingDescriptor } from "./descriptor.ts";

type Value = string | number | boolean;

/** One setting, with the section that it belongs to in capital letters. */
export interface SectionSetting {
  readonly section: string;
  readonly key: string;
  readonly setting: AstSetting;
}

const sectionSpellings: ReadonlyMap<string, string> = new Map([["PARSER", "INPUT_FORMATTER"]]);

/** Splits paths into section and key; `sections` are those that may be given here. */
export function splitSettings(
  settings: readonly AstSetting[],
  sections: readonly string[],
): readonly SectionSetting[] {
  const seen = new Set<string>();
  return settings.map((setting) => {
    const [first, ...rest] = setting.path.map(({ text }) => text);
    const upper = (first as string).toUpperCase();
    const section = sectionSpellings.get(upper) ?? upper;
    if (rest.length === 0 || !sections.includes(section)) {
      throw invalid(
        `there is no setting ${setting.path.map(({ text }) => text).join(".")} here`,
        setting.position,
        rest.length === 0
          ? `A setting has its section before it, such as "${sections[0]}".${upper}.`
          : `A setting begins with ${sections.map((one) => `"${one}".`).join(" or ")}`,
      );
    }
    const key = section === "FIELD" ? rest.join(".") : rest.join(".").toUpperCase();
    const name = `${section}.${key}`;
    if (seen.has(name)) throw invalid(`${name} is given twice`, setting.position);
    seen.add(name);
    return { section, key, setting };
  });
}

/** The descriptor of a type, whose name compares case-insensitively. */
export function findDescriptor<T extends { readonly type: string }>(
  known: readonly T[],
  type: string,
  what: string,
  number: DialectErrorNumber,
  position: Position | undefined,
): T {
  const found = known.find((one) => one.type.toUpperCase() === type.toUpperCase());
  if (found !== undefined) return found;
  const names = known.map((one) => one.type);
  throw new DialectError(number, `there is no ${what} ${type}`, {
    position,
    hint: didYouMean(type, names) ?? `There are ${names.join(", ")}.`,
  });
}

/** The values of one section, checked. Defaults of `overrides` go before those of descriptors. */
export function readSection(
  descriptors: readonly SettingDescriptor[],
  given: readonly SectionSetting[],
  overrides: Settings,
  owner: string,
  position: Position | undefined,
  section?: string,
): Settings {
  const values: Record<string, Value> = {};
  for (const descriptor of descriptors) {
    const value = overrides[descriptor.key] ?? descriptor.default;
    if (value !== undefined) values[descriptor.key] = value;
  }
  for (const { key, section, setting } of given) {
    const descriptor = descriptors.find((one) => one.key === key);
    if (descriptor === undefined) {
      const keys = descriptors.map((one) => one.key);
      throw invalid(
        `${owner} has no setting ${section}.${key}`,
        setting.position,
        didYouMean(key, keys) ?? `It has ${keys.join(", ")}.`,
      );
    }
    values[key] = readValue(descriptor, setting);
  }
  for (const { key, required } of descriptors) {
    if (required === true && values[key] === undefined) {
      throw invalid(
        `${owner} needs the setting ${key}`,
        position,
        section && `Add SET('…' AS "${section}".${key}).`,
      );
    }
  }
  return values;
}

function readValue(descriptor: SettingDescriptor, { value, position }: AstSetting): Value {
  const { key, type } = descriptor;
  if (value.kind === "schema") throw invalid(`${key} is no schema`, position);
  if (value.kind === "secret") {
    if (descriptor.secret === true) return secretReference(value.name);
    throw invalid(`${key} is no secret, so that its value is given in place`, position);
  }
  const raw = value.kind === "number" ? value.text : String(value.value);
  if (descriptor.secret === true && raw.startsWith("SECRET(")) {
    const hint = "SECRET('name') without quotes around it lets the worker find the value.";
    throw invalid(`${key} is no text that looks like a reference to a secret`, position, hint);
  }
  switch (type.kind) {
    case "text":
      return raw;
    case "delimiter": {
      const text = raw.replaceAll("\\n", "\n").replaceAll("\\t", "\t").replaceAll("\\r", "\r");
      if (text === "") throw invalid(`${key} is empty`, position);
      return text;
    }
    case "boolean":
      if (/^(true|false)$/i.test(raw)) return raw.toLowerCase() === "true";
      throw invalid(`${key} is TRUE or FALSE, not '${raw}'`, position);
    case "duration": {
      const ms = durationOfText(raw);
      if (ms === undefined) {
        throw invalid(
          `${key} is a duration such as 5 SEC, not '${raw}'`,
          position,
          "The units are MS, SEC, MINUTE, HOUR and DAY.",
        );
      }
      if (ms >= (type.leastMs ?? 0)) return ms;
      throw invalid(`${key} is at least ${type.leastMs} MS, not '${raw}'`, position);
    }
    case "choice": {
      const chosen = type.choices.find((one) => one.toUpperCase() === raw.toUpperCase());
      if (chosen !== undefined) return chosen;
      throw invalid(
        `${key} is one of ${type.choices.join(", ")}, not '${raw}'`,
        position,
        didYouMean(raw, type.choices),
      );
    }
    default: {
      const number = /^[+-]?\d/.test(raw) ? Number(raw) : Number.NaN;
      const isWhole = type.kind === "number" || Number.isInteger(number);
      if (Number.isFinite(number) && isWhole && number >= type.least && number <= type.most) {
        return number;
      }
      throw invalid(
        `${key} is ${type.kind === "integer" ? "an integer" : "a number"} from ${type.least} to ${type.most}, not '${raw}'`,
        position,
      );
    }
  }
}

/** The schema among the settings, and the other settings. */
export function takeSchema(given: readonly SectionSetting[]): {
  readonly fields: readonly AstField[] | undefined;
  readonly rest: readonly SectionSetting[];
} {
  let fields: readonly AstField[] | undefined;
  const rest = given.filter(({ key, setting }) => {
    if (key !== "SCHEMA" || setting.value.kind !== "schema") return true;
    fields = setting.value.fields;
    return false;
  });
  return { fields, rest };
}

/** The format: its type from `key`, or CSV, and its settings. */
export function readFormat(
  formats: readonly FormatDescriptor[],
  type: string,
  given: readonly SectionSetting[],
  overrides: Settings,
  number: DialectErrorNumber,
  position: Position | undefined,
): Settings {
  const format = findDescriptor(formats, type, "format", number, position);
  const owner = `The format ${format.type}`;
  const own = Object.fromEntries(
    Object.entries(overrides).filter(([key]) => format.settings.some((one) => one.key === key)),
  );
  return { TYPE: format.type, ...readSection(format.settings, given, own, owner, position) };
}

export function ownerOf(descriptor: ConnectorDescriptor, role: string): string {
  return `The ${role} type ${descriptor.type}`;
}

function invalid(message: string, position: Position | undefined, hint?: string): DialectError {
  return new DialectError(1000, message, { position, hint });
}
