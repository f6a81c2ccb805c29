import { axisPlaces, edge, type Shape } from "./heat_cells";
import "./heat_map.css";

interface Props {
  columns: readonly number[];
  shape: Shape;
  left: number;
  name: string;
  /** Over the columns, for whoever does not see their other end. */
  above?: boolean;
}

/** The numbers at the columns, as many as have room. */
export function HeatAxis({ columns, shape, left, name, above = false }: Props) {
  const apart = 12 + 8 * String(columns[columns.length - 1] ?? "").length;
  return (
    <div class={above ? "heat-axis heat-axis-above" : "heat-axis"} aria-hidden="true">
      {axisPlaces(shape, apart).map((place) => (
        <span key={place} style={{ left: `${left + (edge(place, shape) + edge(place + 1, shape)) / 2}px` }}>
          {columns[place]!.toLocaleString("en-US")}
        </span>
      ))}
      <span class="heat-axis-name" style={above ? { left: 0, width: `${left - 20}px` } : { left: `${left}px` }}>
        {above ? name : `${name}; each column is one look`}
      </span>
    </div>
  );
}
