"""Names that travel records abbreviate: IATA airports by city, airlines by code. General knowledge, not of any run."""

from __future__ import annotations

from typing import Final

CITIES: Final = {
    "ATL": "atlanta", "AUS": "austin", "BOS": "boston", "BWI": "baltimore", "CLT": "charlotte", "CVG": "cincinnati",
    "DCA": "washington", "DEN": "denver", "DFW": "dallas", "DTW": "detroit", "EWR": "newark", "HNL": "honolulu",
    "IAD": "washington", "IAH": "houston", "JFK": "new york", "LAS": "las vegas", "LAX": "los angeles",
    "LGA": "new york", "MCO": "orlando", "MDW": "chicago", "MIA": "miami", "MSP": "minneapolis", "MSY": "new orleans",
    "OAK": "oakland", "ORD": "chicago", "PDX": "portland", "PHL": "philadelphia", "PHX": "phoenix",
    "PIT": "pittsburgh", "RDU": "raleigh", "SAN": "san diego", "SEA": "seattle", "SFO": "san francisco",
    "SJC": "san jose", "SLC": "salt lake city", "STL": "st. louis", "TPA": "tampa", "YUL": "montreal",
    "YVR": "vancouver", "YYZ": "toronto", "MEX": "mexico city", "CUN": "cancun", "LHR": "london", "LGW": "london",
    "CDG": "paris", "ORY": "paris", "AMS": "amsterdam", "FRA": "frankfurt", "MUC": "munich", "BER": "berlin",
    "ZRH": "zurich", "VIE": "vienna", "MAD": "madrid", "BCN": "barcelona", "LIS": "lisbon", "FCO": "rome",
    "MXP": "milan", "ATH": "athens", "IST": "istanbul", "CPH": "copenhagen", "ARN": "stockholm", "OSL": "oslo",
    "HEL": "helsinki", "DUB": "dublin", "BRU": "brussels", "PRG": "prague", "WAW": "warsaw", "DXB": "dubai",
    "DOH": "doha", "DEL": "delhi", "BOM": "mumbai", "SIN": "singapore", "HKG": "hong kong", "BKK": "bangkok",
    "KUL": "kuala lumpur", "CGK": "jakarta", "MNL": "manila", "TPE": "taipei", "ICN": "seoul", "NRT": "tokyo",
    "HND": "tokyo", "KIX": "osaka", "PEK": "beijing", "PVG": "shanghai", "SYD": "sydney", "MEL": "melbourne",
    "AKL": "auckland", "GRU": "sao paulo", "EZE": "buenos aires", "SCL": "santiago", "BOG": "bogota", "LIM": "lima",
    "JNB": "johannesburg", "CPT": "cape town", "CAI": "cairo", "NBO": "nairobi",
}  # fmt: skip
AIRLINES: Final = {
    "AA": "american", "UA": "united", "DL": "delta", "WN": "southwest", "B6": "jetblue", "AS": "alaska",
    "NK": "spirit", "F9": "frontier", "BA": "british airways", "AF": "air france", "LH": "lufthansa", "KL": "klm",
    "IB": "iberia", "VS": "virgin atlantic", "AC": "air canada", "QF": "qantas", "EK": "emirates", "QR": "qatar",
    "SQ": "singapore airlines", "CX": "cathay pacific", "JL": "japan airlines", "NH": "all nippon", "LX": "swiss",
    "TK": "turkish", "EI": "aer lingus", "SK": "sas", "AY": "finnair", "TP": "tap", "AZ": "ita",
}  # fmt: skip
SPELLED: Final = {code: name for table in (CITIES, AIRLINES) for code, name in table.items()}
"""Code -> name in lower case."""
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
