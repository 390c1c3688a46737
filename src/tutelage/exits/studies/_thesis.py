"""Columns of the paper's tables, drawn beside what is measured here: CIFAR-100, MSDNet, top-5 accuracy in percent.

Keys: images per class. Rows: exits 1 .. 11 (budget mode, Table 6.2) or the first 1 .. 11 together (anytime, Table 6.4);
of ImageNet exits 1 .. 5 (Tables 6.1 and 6.3).
"""

BUDGET = {
    150: {
        "exit-wise": (72.4, 75.5, 77.4, 78.4, 79.2, 79.8, 80.1, 80.3, 80.3, 80.4, 80.3),
        "distilled": (78.7, 80.5, 80.9, 81.2, 81.2, 81.2, 81.1, 81.1, 81.1, 81.1, 81.1),
        "distilled, with unlabelled": (79.9, 81.1, 81.0, 81.0, 81.0, 81.0, 81.0, 81.0, 81.0, 81.0, 81.0),
    },
    350: {
        "exit-wise": (84.5, 87.2, 88.8, 89.6, 90.1, 90.5, 90.7, 90.8, 90.8, 90.8, 90.8),
        "distilled": (88.1, 90.1, 91.1, 91.3, 91.4, 91.5, 91.5, 91.5, 91.5, 91.5, 91.5),
        "distilled, with unlabelled": (88.5, 90.4, 91.2, 91.5, 91.5, 91.5, 91.5, 91.5, 91.5, 91.5, 91.5),
    },
}

ANYTIME = {
    150: {
        "exit-wise": (72.4, 75.8, 77.9, 79.1, 80.0, 80.7, 81.2, 81.6, 81.9, 82.1, 82.2),
        "distilled": (78.7, 80.8, 81.8, 82.3, 82.7, 82.8, 82.9, 82.9, 82.9, 82.9, 82.8),
        "distilled, with unlabelled": (79.9, 81.5, 82.1, 82.3, 82.3, 82.3, 82.3, 82.3, 82.2, 82.2, 82.1),
    },
    350: {
        "exit-wise": (84.5, 87.5, 89.1, 90.0, 90.5, 91.0, 91.3, 91.5, 91.7, 91.8, 91.9),
        "distilled": (88.1, 90.0, 91.2, 91.6, 91.8, 92.0, 92.1, 92.1, 92.1, 92.2, 92.2),
        "distilled, with unlabelled": (88.5, 90.4, 91.4, 91.8, 92.1, 92.2, 92.3, 92.3, 92.3, 92.3, 92.3),
    },
}

IMAGENET_BUDGET = {
    100: {
        "exit-wise": (64.4, 67.1, 68.1, 68.2, 68.1),
        "distilled": (68.1, 69.2, 69.3, 69.3, 69.3),
        "distilled, with unlabelled": (68.1, 69.5, 69.7, 69.7, 69.7),
    },
}

IMAGENET_ANYTIME = {
    100: {
        "exit-wise": (64.4, 67.7, 69.2, 69.9, 70.2),
        "distilled": (68.1, 69.7, 70.3, 70.5, 70.5),
        "distilled, with unlabelled": (68.1, 69.9, 70.6, 70.8, 70.8),
    },
}
