/** From a type and its settings to what a plan carries: checked, and with defaults filled in. */
import type { Field, Schema } from "../data-type.ts";
import { DialectError, type DialectErrorNumber, type Position } from "../dialect-error.ts";
import type { DialectSettings } from "../dialect-settings.ts";
import type { AstField, AstSetting } from "../parse/ast.ts";
import type { Settings } from "../plan.ts";
import { withoutForeign } from "./foreign-settings.ts";
import { inputFormats, outputFormats } from "./formats.ts";
import {
  findDescriptor,
  ownerOf,
  readFormat,
  readSection,
  type SectionSetting,
  splitSettings,
  takeSchema,
} from "./read-settings.ts";
import { sinkDescriptors } from "./sinks.ts";
import { sourceDescriptors } from "./sources.ts";

export interface SourceDefinition {
  readonly type: string;
  readonly config: Settings;
  /** Empty where the source has rows of its own. */
  readonly parser: Settings;
  readonly schema: Schema | undefined;
}

export interface SinkSettings {
  readonly type: string;
  readonly config: Settings;
  readonly formatter: Settings;
  readonly schema: Schema | undefined;
}

/** A schema of declared fields, of at least one; a name that stands twice is error 2005. */
export function schemaOf(fields: readonly AstField[]): Schema {
  if (fields.length === 0) {
    const hint = "A column is a name and a type, as in (ts UINT64, price FLOAT64).";
    throw new DialectError(2000, "a schema has at least one column", { hint });
  }
  const seen = new Set<string>();
  return fields.map(({ name, type, nullable }): Field => {
    const key = name.text.toUpperCase();
    if (seen.has(key)) {
      throw new DialectError(2005, `the column ${name.text} is declared twice`, {
        position: name.position,
      });
    }
    seen.add(key);
    return { name: name.text, type: { name: type, nullable } };
  });
}

export function defineSource(
  type: string,
  settings: readonly AstSetting[],
  dialect: DialectSettings,
  unknownType: DialectErrorNumber,
  position: Position,
): SourceDefinition {
  const descriptor = findDescriptor(sourceDescriptors, type, "source type", unknownType, position);
  // A source that makes its rows itself has no use for a format, but may be told one.
  const sections = ["SOURCE", "INPUT_FORMATTER", ...(descriptor.hasFormat ? ["FIELD"] : [])];
  const given = withoutForeign(splitSettings(settings, sections), descriptor.type);
  const { fields, rest } = takeSchema(inSection(given, "SOURCE"));
  const owner = ownerOf(descriptor, "source");
  const config = readSection(descriptor.settings, rest, {}, owner, position, "SOURCE");
  const schema = fields && schemaOf(fields);
  if (!descriptor.hasFormat) return { type: descriptor.type, config, parser: {}, schema };
  const formatter = inSection(given, "INPUT_FORMATTER");
  const name = textOf(formatter.find(({ key }) => key === "TYPE")) ?? "CSV";
  const others = formatter.filter(({ key }) => key !== "TYPE");
  const parser = readFormat(inputFormats, name, others, dialect.inputFormat, 2021, position);
  const paths = fieldPaths(inSection(given, "FIELD"), parser);
  return { type: descriptor.type, config, parser: { ...parser, ...paths }, schema };
}

/** `'$.user.id' AS FIELD.user_id`: where a column lies in the record. */
function fieldPaths(given: readonly SectionSetting[], parser: Settings): Settings {
  const paths: Record<string, string> = {};
  for (const one of given) {
    const path = textOf(one);
    if (parser.TYPE !== "JSON" || path === undefined || !path.startsWith("$")) {
      throw new DialectError(1000, `FIELD.${one.key} is a path of JSON such as '$.user.id'`, {
        position: one.setting.position,
      });
    }
    paths[`FIELD.${one.key}`] = path;
  }
  return paths;
}

export function defineSink(
  type: string,
  settings: readonly AstSetting[],
  dialect: DialectSettings,
  unknownType: DialectErrorNumber,
  position: Position,
): SinkSettings {
  const descriptor = findDescriptor(sinkDescriptors, type, "sink type", unknownType, position);
  const sections = descriptor.hasFormat ? ["SINK", "OUTPUT_FORMATTER"] : ["SINK"];
  const given = withoutForeign(splitSettings(settings, sections), descriptor.type);
  const { fields, rest } = takeSchema(inSection(given, "SINK"));
  const schema = fields && schemaOf(fields);
  const isFormat = ({ key }: SectionSetting): boolean =>
    descriptor.hasFormat && (key === "OUTPUT_FORMAT" || key === "INPUT_FORMAT");
  const config = readSection(
    descriptor.settings,
    rest.filter((one) => !isFormat(one)),
    {},
    ownerOf(descriptor, "sink"),
    position,
    "SINK",
  );
  if (!descriptor.hasFormat) return { type: descriptor.type, config, formatter: {}, schema };
  const output = inSection(given, "OUTPUT_FORMATTER");
  const typed = rest.find(isFormat) ?? output.find(({ key }) => key === "TYPE");
  const others = output.filter(({ key }) => key !== "TYPE");
  const name = textOf(typed) ?? "CSV";
  const place = typed?.setting.position ?? position;
  const formatter = readFormat(outputFormats, name, others, dialect.outputFormat, 2036, place);
  return { type: descriptor.type, config, formatter, schema };
}

function inSection(given: readonly SectionSetting[], section: string): readonly SectionSetting[] {
  return given.filter((one) => one.section === section);
}

function textOf(given: SectionSetting | undefined): string | undefined {
  const value = given?.setting.value;
  return value?.kind === "text" ? value.value : undefined;
}
