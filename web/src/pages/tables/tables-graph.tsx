/**
 * The graph of tables and their conditions. Tables are links, so that keyboard and screen readers
 * handle them as links. Arrow keys follow the edges.
 */
import { ActionIcon, Group } from "@mantine/core";
import { IconMaximize, IconZoomIn, IconZoomOut } from "@tabler/icons-react";
import {
  type KeyboardEvent,
  type PointerEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Link } from "react-router";
import type { DynamicTable } from "../../api/gen/types.ts";
import { plural } from "../../format.ts";
import {
  type GraphLayout,
  type GraphSize,
  layOutGraph,
  type PlacedTable,
  type Point,
} from "./graph-layout.ts";
import { lineageOf, nextTable } from "./lineage.ts";
import { tablePath } from "./links.ts";
import { conditionOf, formatLag, lagOf, reasonOf, type TableCondition } from "./table-condition.ts";
import type { ListedTable } from "./table-list.ts";
import { conditionWord, TableIcon } from "./table-sign.tsx";

interface TablesGraphProps {
  readonly listed: readonly ListedTable[];
  readonly nowMs: number;
  /** The tables that match the filter; the others fade. Undefined without a filter. */
  readonly found: ReadonlySet<string> | undefined;
}

const roomy: GraphSize = { width: 216, height: 54, gapX: 72, gapY: 14 };
const dense: GraphSize = { width: 176, height: 28, gapX: 64, gapY: 8 };
/** From this number of tables on, a table is a line instead of a card. */
const denseFrom = 30;
const margin = 20;
const zoomMin = 0.4;
const zoomMax = 1.6;

export function TablesGraph({ listed, nowMs, found }: TablesGraphProps) {
  const size = listed.length < denseFrom ? roomy : dense;
  const edgesKey = listed
    .map(({ name, dynamic }) => `${name}:${dynamic?.sources.map((each) => each.name).join()}`)
    .sort()
    .join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: names and edges alone decide where tables stand.
  const layout = useMemo(
    () =>
      layOutGraph(
        listed.map(({ name, dynamic }) => ({
          id: name,
          sources: dynamic?.sources.map((source) => source.name) ?? [],
        })),
        size,
      ),
    [edgesKey, size],
  );
  const [pointed, setPointed] = useState<string>();
  const lineage = useMemo(
    () => (pointed === undefined ? undefined : lineageOf(layout.edges, pointed)),
    [layout, pointed],
  );
  const { viewport, zoom, setZoom, fit } = useZoom(layout);
  const byName = new Map(listed.map((each) => [each.name, each]));
  const lit = lineage ?? found;
  const width = (layout.width + 2 * margin) * zoom;
  const height = (layout.height + 2 * margin) * zoom;
  return (
    <section className="card graph" aria-label="Graph of tables">
      <div className="graph-view" ref={viewport} {...usePanning()}>
        <div className="graph-room" style={{ width, height }}>
          <div className="graph-sheet" style={{ transform: `scale(${zoom})`, padding: margin }}>
            <Edges layout={layout} lit={lineage} faded={found} />
            <ul className="graph-tables">
              {layout.tables.map((placed) => {
                const each = byName.get(placed.id);
                return each === undefined ? null : (
                  <Node
                    key={placed.id}
                    listed={each}
                    placed={placed}
                    layout={layout}
                    size={size}
                    nowMs={nowMs}
                    faded={lit !== undefined && !lit.has(placed.id)}
                    onPoint={setPointed}
                  />
                );
              })}
            </ul>
          </div>
        </div>
      </div>
      <div className="graph-foot">
        <span className="dim graph-hint">
          {plural(listed.length, "table")}, {plural(layout.edges.length, "edge")}; arrow keys follow
          them
        </span>
        <Group gap={4} className="push">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="Smaller"
            onClick={() => setZoom(zoom / 1.2)}
          >
            <IconZoomOut size={16} />
          </ActionIcon>
          <span className="graph-zoom dim">{Math.round(zoom * 100)} %</span>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="Larger"
            onClick={() => setZoom(zoom * 1.2)}
          >
            <IconZoomIn size={16} />
          </ActionIcon>
          <ActionIcon variant="subtle" color="gray" aria-label="Fit the window" onClick={fit}>
            <IconMaximize size={16} />
          </ActionIcon>
        </Group>
      </div>
    </section>
  );
}

interface NodeProps {
  readonly listed: ListedTable;
  readonly placed: PlacedTable;
  readonly layout: GraphLayout;
  readonly size: GraphSize;
  readonly nowMs: number;
  readonly faded: boolean;
  readonly onPoint: (name: string | undefined) => void;
}

function Node({ listed, placed, layout, size, nowMs, faded, onPoint }: NodeProps) {
  const { name, table, dynamic } = listed;
  const condition = dynamic === undefined ? "plain" : conditionOf(dynamic);
  const word = condition === "plain" ? "Table" : conditionWord(condition);
  const figure = dynamic === undefined ? plural(table?.row_count, "row") : figureOf(dynamic, nowMs);
  const reason = dynamic === undefined ? "" : reasonOf(dynamic);
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const next = nextTable(layout, placed, event.key);
    if (next === undefined) return;
    event.preventDefault();
    const links = event.currentTarget.closest("ul")?.querySelectorAll<HTMLElement>("a");
    for (const link of links ?? []) if (link.dataset.table === next) link.focus();
  };
  return (
    <li>
      <Link
        to={tablePath(name)}
        className={`node${size === dense ? " node-dense" : ""}${faded ? " node-faded" : ""}`}
        style={{ left: placed.x, top: placed.y, width: size.width, height: size.height }}
        data-table={name}
        data-condition={condition}
        title={[name, `${word}, ${figure}`, reason].filter((text) => text !== "").join("\n")}
        aria-label={`${name}: ${word}, ${figure}${reason === "" ? "" : `, ${reason}`}`}
        draggable={false}
        onPointerEnter={() => onPoint(name)}
        onPointerLeave={() => onPoint(undefined)}
        onFocus={() => onPoint(name)}
        onBlur={() => onPoint(undefined)}
        onKeyDown={onKeyDown}
      >
        <TableIcon condition={condition} />
        <span className="node-name truncate">{name}</span>
        {size === dense ? (
          isTrouble(condition) && <span className="node-word">{word}</span>
        ) : (
          <span className="node-line truncate">
            {condition === "plain" ? figure : <strong>{word}</strong>}
            {condition !== "plain" && <span className="dim"> {figure}</span>}
          </span>
        )}
      </Link>
    </li>
  );
}

/** A dense graph shows the word only for tables that need attention; the others have a sign. */
function isTrouble(condition: TableCondition | "plain"): boolean {
  return ["failed", "late", "retrying", "suspended"].includes(condition);
}

function figureOf(table: DynamicTable, nowMs: number): string {
  const lagMs = lagOf(table, nowMs);
  if (lagMs === undefined) return "no contents yet";
  if (table.status === "SUSPENDED" || table.status === "FAILED") return `${formatLag(lagMs)} old`;
  const targetMs = table.effective_target_lag_ms;
  return targetMs === null ? formatLag(lagMs) : `${formatLag(lagMs)} of ${formatLag(targetMs)}`;
}

interface EdgesProps {
  readonly layout: GraphLayout;
  readonly lit: ReadonlySet<string> | undefined;
  readonly faded: ReadonlySet<string> | undefined;
}

function Edges({ layout, lit, faded }: EdgesProps) {
  const classOf = (from: string, to: string): string => {
    if (lit !== undefined)
      return lit.has(from) && lit.has(to) ? "edge edge-lit" : "edge edge-faded";
    return faded === undefined || (faded.has(from) && faded.has(to)) ? "edge" : "edge edge-faded";
  };
  return (
    <svg className="graph-edges" width={layout.width} height={layout.height} aria-hidden="true">
      {layout.edges.map(({ from, to, points }) => (
        <path key={`${from}\n${to}`} className={classOf(from, to)} d={pathOf(points)} />
      ))}
    </svg>
  );
}

/** Straight within a level, curved between levels. */
function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${first.x} ${round(first.y)}`;
  let last = first;
  for (const [index, point] of rest.entries()) {
    if (index % 2 === 1) {
      path += `H${point.x}`;
    } else {
      const half = (point.x - last.x) / 2;
      path += `C${last.x + half} ${round(last.y)} ${point.x - half} ${round(point.y)} ${point.x} ${round(point.y)}`;
    }
    last = point;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

interface Zoom {
  readonly viewport: React.RefObject<HTMLDivElement | null>;
  readonly zoom: number;
  readonly setZoom: (zoom: number) => void;
  readonly fit: () => void;
}

/**
 * Starts with the whole graph in view, if it is still readable; a size that the user chose is kept.
 */
function useZoom(layout: GraphLayout): Zoom {
  const viewport = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<number>();
  const [fitting, setFitting] = useState(1);
  useLayoutEffect(() => {
    const element = viewport.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const room = element.clientWidth / (layout.width + 2 * margin);
      setFitting(Math.min(1, Math.max(0.6, room)));
    };
    measure();
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    return () => resized.disconnect();
  }, [layout]);
  return {
    viewport,
    zoom: chosen ?? fitting,
    setZoom: (zoom) => setChosen(Math.min(zoomMax, Math.max(zoomMin, zoom))),
    fit: () => setChosen(undefined),
  };
}

interface Panning {
  readonly onPointerDown: (event: PointerEvent<HTMLElement>) => void;
  readonly onPointerMove: (event: PointerEvent<HTMLElement>) => void;
  readonly onPointerUp: () => void;
  readonly onPointerCancel: () => void;
}

/** A mouse drags the sheet; fingers scroll it as usual. */
function usePanning(): Panning {
  const from = useRef<Point>(undefined);
  const end = (): void => {
    from.current = undefined;
  };
  return {
    onPointerDown: ({ pointerType, button, clientX: x, clientY: y, target }) => {
      const onLink = target instanceof Element && target.closest("a") !== null;
      if (pointerType === "mouse" && button === 0 && !onLink) from.current = { x, y };
    },
    onPointerMove: ({ currentTarget, clientX: x, clientY: y, buttons }) => {
      if (buttons === 0) end();
      if (from.current === undefined) return;
      currentTarget.scrollBy(from.current.x - x, from.current.y - y);
      from.current = { x, y };
    },
    onPointerUp: end,
    onPointerCancel: end,
  };
}
