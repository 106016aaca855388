/** What the graph is, and how large it is shown. */
import { ActionIcon, Group } from "@mantine/core";
import { IconMaximize, IconZoomIn, IconZoomOut } from "@tabler/icons-react";
import type { Zoom } from "./use-zoom.ts";

interface GraphFootProps {
  readonly hint: string;
  readonly view: Zoom;
}

export function GraphFoot({ hint, view: { zoom, setZoom, fit } }: GraphFootProps) {
  return (
    <div className="graph-foot">
      <span className="dim graph-hint">{hint}</span>
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
  );
}
