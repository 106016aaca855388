/** The settings of a descriptor as a table of the reference. */
import type { SettingDescriptor } from "../../language/core/index.ts";

export function settingsTable(section: string, settings: readonly SettingDescriptor[]): string {
  const rows = settings.map(
    (setting) =>
      `| \`${section}.${setting.key}\` | ${typeText(setting)} | ${defaultText(setting)} | ${setting.description} |`,
  );
  return ["| Setting | Value | Default | |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function typeText({ type, secret }: SettingDescriptor): string {
  const text = ((): string => {
    switch (type.kind) {
      case "choice":
        return type.choices.map((one) => `\`${one}\``).join(", ");
      case "boolean":
        return "`TRUE`, `FALSE`";
      case "duration":
        return "duration";
      case "delimiter":
        return "characters";
      case "integer":
      case "number":
        return `${type.kind}, ${type.least} to ${type.most}`;
      case "text":
        return "text";
    }
  })();
  return secret === true ? `${text}, secret` : text;
}

function defaultText({ type, required, default: value }: SettingDescriptor): string {
  if (required === true) return "required";
  if (value === undefined || value === "") return "none";
  if (type.kind === "duration") return `${value} ms`;
  return `\`${typeof value === "string" ? JSON.stringify(value).slice(1, -1) : String(value).toUpperCase()}\``;
}
