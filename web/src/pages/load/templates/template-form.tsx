/** The most common settings. The form reads them from the text and writes them there. */
import { NumberInput, SegmentedControl, Stack, TextInput } from "@mantine/core";
import type { LoadMode } from "../../../api/gen/types.ts";
import { modeWords } from "./template-list.ts";
import {
  type SettingName,
  type Settings,
  settingsOf,
  withMode,
  withSetting,
  withUrl,
} from "./template-text.ts";

interface TemplateFormProps {
  readonly text: string;
  /** Whether the text is unreadable or read-only. */
  readonly isDisabled: boolean;
  readonly onChange: (text: string) => void;
}

interface Field {
  readonly name: SettingName;
  readonly label: string;
  readonly usual: (settings: Settings) => string;
  readonly suffix?: string;
}

const fields: readonly Field[] = [
  {
    name: "connections",
    label: "Connections",
    usual: ({ mode }) => (mode === "CONCURRENCY" ? "10" : "100"),
  },
  { name: "durationS", label: "Duration", usual: () => "60 s", suffix: " s" },
  { name: "warmupS", label: "Warm-up", usual: () => "5 s", suffix: " s" },
];

const modes: readonly LoadMode[] = ["CONCURRENCY", "QPS", "FIND_MAX_CONCURRENCY"];
const shortWords: Readonly<Record<LoadMode, string>> = {
  ...modeWords,
  FIND_MAX_CONCURRENCY: "Find max",
};

export function TemplateForm({ text, isDisabled, onChange }: TemplateFormProps) {
  const settings = settingsOf(text);
  const set = (name: SettingName) => (value: string | number) =>
    onChange(withSetting(text, name, value === "" ? undefined : Number(value)));
  const shown = fields.filter(({ name }) => !isHidden(name, settings.mode));
  return (
    <Stack gap="sm">
      <TextInput
        label="Target"
        size="xs"
        disabled={isDisabled}
        classNames={{ input: "mono" }}
        placeholder="postgres://me@localhost/db"
        value={settings.url ?? ""}
        onChange={(event) => onChange(withUrl(text, event.currentTarget.value))}
      />
      <div>
        <span className="form-label">Mode</span>
        <SegmentedControl
          fullWidth
          size="xs"
          aria-label="Mode"
          disabled={isDisabled}
          value={settings.mode}
          onChange={(mode) => onChange(withMode(text, mode as LoadMode))}
          data={modes.map((mode) => ({ value: mode, label: shortWords[mode] }))}
        />
      </div>
      {settings.mode === "QPS" && (
        <NumberInput
          label="Operations per second"
          size="xs"
          min={0}
          disabled={isDisabled}
          thousandSeparator=","
          value={settings.qps ?? ""}
          onChange={set("qps")}
        />
      )}
      {shown.map(({ name, label, usual, suffix }) => (
        <NumberInput
          key={name}
          label={settings.mode === "QPS" && name === "connections" ? "Connections, at most" : label}
          size="xs"
          min={0}
          disabled={isDisabled}
          thousandSeparator=","
          placeholder={usual(settings)}
          {...(suffix !== undefined && { suffix })}
          value={settings[name] ?? ""}
          onChange={set(name)}
        />
      ))}
    </Stack>
  );
}

/** A search has its own connections and end. */
function isHidden(name: SettingName, mode: LoadMode): boolean {
  return mode === "FIND_MAX_CONCURRENCY" && name !== "warmupS";
}
