/** Controls for the time range, the step and the refresh interval. */
import {
  ActionIcon,
  Button,
  Popover,
  SegmentedControl,
  Select,
  TextInput,
  Tooltip,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronLeft, IconChevronRight, IconClock, IconRefresh } from "@tabler/icons-react";
import { useState } from "react";
import { type ExploreState, formatSpan, parseDuration } from "./explore-state.ts";

interface TimeControlsProps {
  readonly state: ExploreState;
  readonly nowMs: () => number;
  readonly onChange: (change: Partial<ExploreState>) => void;
  readonly refreshMs: number;
  readonly onRefreshMs: (ms: number) => void;
  readonly onRun: () => void;
}

const presets = ["5m", "15m", "1h", "3h", "6h", "12h", "1d", "2d", "1w"] as const;
const refreshes = [
  { value: "0", label: "No refresh" },
  { value: "5000", label: "Every 5 s" },
  { value: "15000", label: "Every 15 s" },
  { value: "60000", label: "Every minute" },
];

export function TimeControls(props: TimeControlsProps) {
  const { state, nowMs, onChange, refreshMs, onRefreshMs, onRun } = props;
  const shift = (direction: 1 | -1): void => {
    const endMs = (state.endMs ?? nowMs()) + (direction * state.rangeMs) / 2;
    onChange({ endMs: endMs >= nowMs() ? undefined : endMs });
  };
  return (
    <div className="time-controls">
      <Tooltip label="Earlier">
        <ActionIcon variant="default" size={30} aria-label="Earlier" onClick={() => shift(-1)}>
          <IconChevronLeft size={16} />
        </ActionIcon>
      </Tooltip>
      <RangePicker state={state} nowMs={nowMs} onChange={onChange} />
      <Tooltip label="Later">
        <ActionIcon
          variant="default"
          size={30}
          aria-label="Later"
          disabled={state.endMs === undefined}
          onClick={() => shift(1)}
        >
          <IconChevronRight size={16} />
        </ActionIcon>
      </Tooltip>
      <StepField stepMs={state.stepMs} onChange={(stepMs) => onChange({ stepMs })} />
      <Select
        size="xs"
        w={130}
        aria-label="Refresh"
        allowDeselect={false}
        data={refreshes}
        value={String(refreshMs)}
        onChange={(value) => onRefreshMs(Number(value))}
      />
      <Button variant="default" leftSection={<IconRefresh size={14} />} onClick={onRun}>
        Run all
      </Button>
    </div>
  );
}

function RangePicker({
  state,
  nowMs,
  onChange,
}: Pick<TimeControlsProps, "state" | "nowMs" | "onChange">) {
  const [opened, popover] = useDisclosure(false);
  const { rangeMs, endMs } = state;
  const label =
    endMs === undefined
      ? `Last ${formatSpan(rangeMs)}`
      : `${localTime(endMs - rangeMs)} to ${localTime(endMs)}`;
  const choose = (change: Partial<ExploreState>): void => {
    onChange(change);
    popover.close();
  };
  return (
    <Popover opened={opened} onChange={popover.toggle} trapFocus position="bottom-start">
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<IconClock size={14} />}
          aria-label={`Time range: ${label}`}
          onClick={popover.toggle}
        >
          {label.replace("T", " ")}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <SegmentedControl
          size="xs"
          fullWidth
          aria-label="Time range"
          data={[...presets]}
          value={endMs === undefined ? formatSpan(rangeMs) : ""}
          onChange={(text) => choose({ rangeMs: parseDuration(text) ?? rangeMs, endMs: undefined })}
        />
        <CustomRange
          startMs={(endMs ?? nowMs()) - rangeMs}
          endMs={endMs ?? nowMs()}
          onChoose={(from, to) => choose({ rangeMs: to - from, endMs: to })}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

interface CustomRangeProps {
  readonly startMs: number;
  readonly endMs: number;
  readonly onChoose: (startMs: number, endMs: number) => void;
}

function CustomRange({ startMs, endMs, onChoose }: CustomRangeProps) {
  const [from, setFrom] = useState(localTime(startMs));
  const [to, setTo] = useState(localTime(endMs));
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const wrong = !(fromMs < toMs);
  return (
    <form
      className="custom-range"
      onSubmit={(event) => {
        event.preventDefault();
        if (!wrong) onChoose(fromMs, toMs);
      }}
    >
      <TextInput
        size="xs"
        type="datetime-local"
        step="1"
        label="From"
        value={from}
        onChange={(event) => setFrom(event.currentTarget.value)}
      />
      <TextInput
        size="xs"
        type="datetime-local"
        step="1"
        label="To"
        value={to}
        error={wrong ? "Must be after From" : undefined}
        onChange={(event) => setTo(event.currentTarget.value)}
      />
      <Button type="submit" disabled={wrong}>
        Show
      </Button>
    </form>
  );
}

/** The local time in the format of `datetime-local`. */
function localTime(atMs: number): string {
  const local = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

interface StepFieldProps {
  readonly stepMs: number | undefined;
  readonly onChange: (stepMs: number | undefined) => void;
}

function StepField({ stepMs, onChange }: StepFieldProps) {
  const shown = stepMs === undefined ? "" : formatSpan(stepMs);
  const [text, setText] = useState(shown);
  const [before, setBefore] = useState(shown);
  if (shown !== before) {
    setBefore(shown);
    setText(shown);
  }
  const parsed = text.trim() === "" ? undefined : parseDuration(text.trim());
  const wrong = text.trim() !== "" && parsed === undefined;
  const commit = (): void => {
    if (!wrong && parsed !== stepMs) onChange(parsed);
  };
  return (
    <TextInput
      size="xs"
      w={104}
      aria-label="Step"
      placeholder="Step: auto"
      title="Between two points, as 15s or 5m"
      value={text}
      error={wrong}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit();
      }}
    />
  );
}
