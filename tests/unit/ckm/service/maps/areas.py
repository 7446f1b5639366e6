"""Areas that cover the plane, with winding boundaries that neighbours share."""

from __future__ import annotations

import json

import numpy as np


def winding_areas(path, *, across=6, bends=5, seed=0, name="code", scale=1.0):
    """Write a square of areas as GeoJSON; return the codes, row by row."""
    draws = np.random.Generator(np.random.PCG64(seed))
    corners = np.stack(np.meshgrid(range(across + 1), range(across + 1)), axis=-1) * 1.0
    corners[1:-1, 1:-1] += draws.uniform(-0.3, 0.3, (across - 1, across - 1, 2))

    def line(start, end):
        """Return places from a corner to another, without the last."""
        shares = np.linspace(0, 1, bends + 1, endpoint=False)[:, None]
        places = start + shares * (end - start)
        places[1:] += draws.uniform(-0.06, 0.06, (bends, 2))
        return places

    right = {
        (i, j): line(corners[i, j], corners[i, j + 1])
        for i in range(across + 1)
        for j in range(across)
    }
    down = {
        (i, j): line(corners[i, j], corners[i + 1, j])
        for i in range(across)
        for j in range(across + 1)
    }

    def back(places, end):
        return np.concatenate([end[None], places[:0:-1]])

    features, codes = [], []
    for i in range(across):
        for j in range(across):
            ring = np.concatenate(
                [
                    right[i, j],
                    down[i, j + 1],
                    back(right[i + 1, j], corners[i + 1, j + 1]),
                    back(down[i, j], corners[i + 1, j]),
                    corners[i, j][None],
                ]
            )
            codes.append(f"{i:03d}{j:03d}")
            geometry = {"type": "Polygon", "coordinates": [(ring * scale).round(6).tolist()]}
            properties = {name: codes[-1], "label": "x"}
            features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return codes
